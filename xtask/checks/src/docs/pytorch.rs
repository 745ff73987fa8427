//! Names in PyTorch: the table behind a column of `docs/ops.md`, and `docs/pytorch.md`.
//!
//! A method that is in neither list has the same name in PyTorch.

use std::fmt::Write as _;

use xtask::workspace::TextFile;

/// Methods whose PyTorch name differs, in the order of PyTorch's names. `F` is `torch.nn.functional`.
pub(super) const DIFFERENT: &[(&str, &str)] = &[
    (
        "F.adaptive_max_pool2d(return_indices=True)",
        "adaptive_max_pool2d_with_indices",
    ),
    ("F.fold", "col2im"),
    ("F.gelu(approximate=\"tanh\")", "gelu_tanh"),
    ("F.hardsigmoid", "hard_sigmoid"),
    ("F.hardswish", "hard_swish"),
    ("F.hardtanh", "hard_tanh"),
    ("F.hardshrink, F.softshrink", "shrink"),
    ("F.interpolate(scale_factor=…)", "interpolate_by"),
    ("F.interpolate(size=…)", "interpolate"),
    ("F.logsigmoid", "log_sigmoid"),
    (
        "F.max_pool2d(return_indices=True)",
        "max_pool2d_with_indices",
    ),
    ("F.pixel_shuffle", "depth_to_space"),
    ("F.pixel_unshuffle", "space_to_depth"),
    ("F.threshold", "thresholded_relu"),
    ("F.unfold", "im2col"),
    ("Tensor.new_full, torch.full_like", "full_like"),
    ("Tensor.dim", "rank"),
    ("Tensor.numel", "len"),
    ("Tensor.numpy", "to_vec"),
    ("Tensor.size", "dims"),
    ("Tensor.to(dtype)", "to_dtype"),
    ("Tensor.tolist", "to_vec"),
    ("Tensor.type(dtype)", "to_dtype"),
    ("Tensor.uniform_", "uniform"),
    ("Tensor.view(dtype)", "bitcast"),
    ("torch.all() of everything", "all_all"),
    ("torch.any() of everything", "any_all"),
    ("torch.argmax() of everything", "argmax_all"),
    ("torch.argmin() of everything", "argmin_all"),
    ("torch.arccos", "acos"),
    ("torch.arcsin", "asin"),
    ("torch.arctan", "atan"),
    ("torch.bitwise_left_shift", "shift_left"),
    ("torch.bitwise_right_shift", "shift_right"),
    ("torch.cat", "concat"),
    ("torch.clip", "clamp"),
    ("torch.div(rounding_mode=\"floor\")", "floor_divide"),
    ("torch.div(rounding_mode=\"trunc\")", "div_trunc"),
    ("torch.from_numpy, torch.tensor", "from_slice"),
    ("torch.isfinite", "is_finite"),
    ("torch.isinf", "is_inf"),
    ("torch.isnan", "is_nan"),
    ("torch.linalg.cholesky", "cholesky"),
    ("torch.linalg.det", "det"),
    ("torch.linalg.inv", "inverse"),
    ("torch.linalg.norm, torch.norm", "norm"),
    ("torch.linalg.solve", "solve"),
    ("torch.linalg.solve_triangular", "solve_triangular"),
    ("torch.max(dim)", "max_with_indices"),
    ("torch.max() of everything", "max_all"),
    ("torch.mean() of everything", "mean_all"),
    ("torch.min(dim)", "min_with_indices"),
    ("torch.min() of everything", "min_all"),
    ("torch.multiply", "mul"),
    ("torch.prod() of everything", "prod_all"),
    ("torch.repeat_interleave(tensor)", "repeat_interleave_by"),
    ("torch.roll() without dims", "roll_flat"),
    ("torch.split(list)", "split_sizes"),
    ("torch.sum() of everything", "sum_all"),
    ("torch.sum(dtype=…)", "sum_to"),
    ("torch.squeeze(dim)", "squeeze_axis"),
    ("torch.true_divide", "div"),
    ("torch.where", "where_"),
    ("torch.nan_to_num(nan, posinf, neginf)", "nan_to_num_with"),
    ("x[i]", "select"),
    ("x[a:b]", "slice"),
    ("x[a:b:step]", "slice_step"),
    ("x[a:b] = y", "slice_assign"),
    ("x[i, j]", "index"),
    ("x[i, j] = y", "index_put"),
    ("x[mask]", "masked_select"),
];

/// Methods of [`DIFFERENT`] that PyTorch has under the same name too.
const ALSO_SAME: &[&str] = &["acos", "asin", "atan", "clamp", "div", "mul", "norm"];

/// Methods that PyTorch does not have, or has in another form.
const NONE: &[&str] = &[
    "affine",
    "attention_scores",
    "batch_norm_train",
    "crop_and_resize",
    "cumprod_with",
    "cumsum_with",
    "display",
    "eval",
    "explain",
    "eye_of",
    "from_bytes",
    "from_value",
    "from_vec",
    "gather_nd",
    "geglu",
    "gelu_quick",
    "gemm",
    "global_avg_pool",
    "global_lp_pool",
    "global_max_pool",
    "hardmax",
    "is_empty",
    "matmul_to",
    "max_from",
    "min_from",
    "argmax_last",
    "argmin_last",
    "reglu",
    "reshape_to",
    "resize_by",
    "resize_to",
    "rope",
    "scatter_nd",
    "sum_squares",
    "swiglu",
    "to_bytes",
    "to_f64_vec",
    "to_vec1",
    "to_vec2",
    "to_vec3",
    "rpow",
];

/// What stands in the column of a method.
pub(super) fn column(method: &str) -> String {
    let names: Vec<String> = DIFFERENT
        .iter()
        .filter(|(_, ours)| *ours == method)
        .map(|(torch, _)| format!("`{torch}`"))
        .collect();
    if ALSO_SAME.contains(&method) {
        return format!("same, {}", names.join(", "));
    }
    if !names.is_empty() {
        return names.join(", ");
    }
    if NONE.contains(&method) {
        "–".into()
    } else {
        "same".into()
    }
}

/// `docs/pytorch.md`.
pub(super) fn page() -> String {
    let mut text = String::from(
        "# From PyTorch\n\n\
         Most operations have PyTorch's name. Written by `cargo xtask docs`: this lists what is called otherwise, and\n\
         [ops.md](ops.md) everything.\n\n\
         ## What is different\n\n\
         | PyTorch | Ziggurat |\n| --- | --- |\n\
         | an exception | `Result`: `?` behind each call and each expression of operators: `(&a * &b)?` |\n\
         | a default device | a `Device` that is opened once; tensors know theirs |\n\
         | `x.cpu()`, `x.tolist()` | `x.to_vec::<f32>().await`, or `x.to_vec_blocking::<f32>()` |\n\
         | runs at once | elementwise operations wait and fuse; `x.eval()` runs them, `x.explain()` shows the kernels |\n\
         | keyword arguments | option structs with `Default`, such as `Conv2dOptions` |\n\
         | `dim=None` | an own method: `sum_all`, `max_all` |\n\
         | int64 | i32; files with int64 are converted with a range check |\n\
         | `x.add_(y)` changes shared memory | the variable `x` changes, clones and views keep their values |\n\
         | `torch.set_float32_matmul_precision(\"high\")` | `device.set_matmul_precision(MatmulPrecision::High)` |\n\
         | autograd, `nn.Module`, optimisers | none |\n\n\
         ## Names\n\n\
         | PyTorch | `Tensor` method |\n| --- | --- |\n",
    );
    for (torch, ours) in DIFFERENT {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| `{torch}` | `{ours}` |");
    }
    text
}

/// Names of the lists that are not methods, and names in PyTorch by which a search of the API's documentation finds nothing.
pub(super) fn problems(methods: &[String], sources: &[TextFile]) -> Vec<String> {
    let is_method = |name: &str| methods.iter().any(|method| method == name);
    let listed = DIFFERENT
        .iter()
        .map(|(_, ours)| *ours)
        .chain(NONE.iter().copied());
    let mut problems: Vec<String> = listed
        .filter(|name| !is_method(name) && !name.contains("pool2d"))
        .map(|name| format!("docs/pytorch.rs lists `{name}`, which is no method of Tensor"))
        .collect();
    for (torch, ours) in DIFFERENT {
        for name in torch.split(", ").filter_map(plain_name) {
            let attribute = format!("alias = \"{name}\"");
            let found = sources.iter().any(|file| file.text.contains(&attribute));
            if !found && !is_method(name) && !name.contains("pool2d") {
                problems.push(format!("Tensor::{ours} needs #[doc({attribute})]"));
            }
        }
    }
    problems
}

/// `cat` of `torch.cat(dim=…)`; none for an expression such as `x[i]`.
fn plain_name(torch: &str) -> Option<&str> {
    let (module, name) = torch
        .rsplit_once('(')
        .map_or(torch, |(name, _)| name)
        .rsplit_once('.')?;
    let name = name
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()?;
    (["torch", "torch.linalg", "F", "Tensor"].contains(&module) && name.len() > 2).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_has_its_own_name_another_or_none() {
        assert_eq!(column("relu"), "same");
        assert_eq!(column("concat"), "`torch.cat`");
        assert_eq!(
            column("to_dtype"),
            "`Tensor.to(dtype)`, `Tensor.type(dtype)`"
        );
        assert_eq!(column("explain"), "–");
        assert!(page().contains("| `torch.cat` | `concat` |"));
    }

    #[test]
    fn a_name_that_is_no_method_or_has_no_alias_is_told() {
        let all: Vec<String> = DIFFERENT
            .iter()
            .map(|(_, ours)| ours)
            .chain(NONE)
            .map(|name| (*name).to_owned())
            .collect();
        let found = problems(&all, &[]);
        assert!(found.iter().all(|problem| problem.contains("doc(alias")));
        assert!(found.contains(&"Tensor::concat needs #[doc(alias = \"cat\")]".to_owned()));
        let source = TextFile::new("a.rs", "#[doc(alias = \"cat\")]");
        assert_eq!(problems(&all, &[source]).len(), found.len() - 1);
        assert!(problems(&[], &[]).len() > found.len());
    }

    #[test]
    fn plain_names_are_found_in_calls() {
        assert_eq!(plain_name("torch.cat"), Some("cat"));
        assert_eq!(
            plain_name("F.max_pool2d(return_indices=True)"),
            Some("max_pool2d")
        );
        assert_eq!(plain_name("torch.linalg.inv"), Some("inv"));
        assert_eq!(plain_name("x[a:b]"), None);
        assert_eq!(plain_name("Tensor.to(dtype)"), None);
    }
}
