//! The rows of `constructs.txt`: a shader for each construct.

const CONSTRUCTS: &str = include_str!("constructs.txt");

/// A construct's shader and how it is compared.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) units: u32,
    pub(crate) absolute: f32,
    pub(crate) needs: wgpu::Features,
    pub(crate) enables: Vec<String>,
    pub(crate) module: String,
    pub(crate) body: String,
}

pub(crate) fn rows() -> Vec<Row> {
    let blocks = CONSTRUCTS.split("\n## ").skip(1);
    blocks.map(row).collect()
}

fn row(block: &str) -> Row {
    let (name, rest) = block.split_once('\n').unwrap();
    let mut row = Row {
        name: name.to_owned(),
        ..Row::default()
    };
    let mut text = rest;
    loop {
        let (line, after) = text.split_once('\n').unwrap_or((text, ""));
        match line.split_once(' ') {
            Some(("tol", n)) => row.units = n.parse().unwrap(),
            Some(("abs", n)) => row.absolute = n.parse().unwrap(),
            Some(("needs", name)) => row.needs |= wgpu::Features::from_name(name).unwrap(),
            Some(("enable", name)) => row.enables.push(name.to_owned()),
            _ => break,
        }
        text = after;
    }
    match text.split_once("---\n") {
        Some((module, body)) => (row.module, row.body) = (module.to_owned(), body.to_owned()),
        None => row.body = text.to_owned(),
    }
    row
}

impl Row {
    pub(crate) fn text(&self) -> String {
        let enables: String = self
            .enables
            .iter()
            .map(|name| format!("enable {name};\n"))
            .collect();
        let subgroups = if self.needs.contains(wgpu::Features::SUBGROUP) {
            ", @builtin(subgroup_size) sgsize: u32, @builtin(subgroup_id) sgid: u32, @builtin(subgroup_invocation_id) sglane: u32"
        } else {
            ""
        };
        format!(
            "{enables}
            @group(0) @binding(0) var<storage, read> fin: array<vec4<f32>>;
            @group(0) @binding(1) var<storage, read> iin: array<vec4<i32>>;
            @group(0) @binding(2) var<storage, read_write> out: array<vec4<u32>>;
            @group(0) @binding(3) var<storage, read_write> totals: array<atomic<u32>>;
            {module}
            @compute @workgroup_size(64)
            fn main(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,
                @builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) wid: vec3<u32>,
                @builtin(num_workgroups) nwg: vec3<u32>{subgroups}) {{
            let at = gid.x; let v = fin[at]; let x = v.x; let y = v.y; let z = v.z; let p = abs(v) + vec4(0.25);
            let s = iin[at]; let m = s.x; let n = s.y; let u = bitcast<vec4<u32>>(s); let k = u.w & 15u;
            var r = vec4<u32>(); var q = vec4<f32>();
            {body}
            // Every binding is used, so that all rows have one layout.
            if arrayLength(&totals) == 0u {{ r.x = 0u; }}
            out[2u * at] = r; out[2u * at + 1u] = bitcast<vec4<u32>>(q); }}",
            module = self.module,
            body = self.body,
        )
    }
}
