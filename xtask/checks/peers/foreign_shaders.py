"""Brings compute shaders of other projects into a folder, as those projects compile them.

    python3 foreign_shaders.py PACKAGES OUT
    cargo ziggurat check --class none --language spirv --quiet --constant supports_indirect_first_instance=1 \\
        --constant write_d3d12_special_constants=0 OUT

PACKAGES is a folder of unpacked Rust packages, `name-version` each, as Cargo keeps them after `cargo fetch` in a project
that depends on them. Nothing is downloaded here. Each project has a preprocessor of its own, of which this does the part
that its compute shaders use; what a project defines when the program runs stands in PROJECTS below.
"""

import re
import sys
from pathlib import Path

DIRECTIVE = re.compile(r"^\s*#\s*(ifdef|ifndef|if|else|endif)\b(.*)$")


def holds(kind, rest, defines):
    rest = rest.split("//")[0].strip()
    if kind == "ifdef":
        return rest in defines
    if kind == "ifndef":
        return rest not in defines
    name, operator, value = re.match(r"(\w+)\s*(==|!=|>=|<=|>|<)\s*(\w+)", rest).groups()
    have = defines.get(name, "0")
    if operator in ("==", "!="):
        return (have == value) == (operator == "==")
    have, value = int(have.rstrip("u")), int(value.rstrip("u"))
    return {">": have > value, "<": have < value, ">=": have >= value, "<=": have <= value}[operator]


def conditions(text, defines):
    """The lines that `#ifdef` and its like leave; others become empty, so that lines keep their numbers."""
    out, stack = [], []  # of each block: whether it is active, and whether a branch of it was taken
    for line in text.splitlines():
        found = DIRECTIVE.match(line)
        if found is None:
            out.append(line if all(active for active, _ in stack) else "")
            continue
        kind, rest = found.groups()
        if kind == "endif":
            stack.pop()
        elif kind == "else":
            _, taken = stack.pop()
            chained = re.match(r"\s*(ifdef|ifndef|if)\b(.*)", rest)
            now = not taken and (chained is None or holds(*chained.groups(), defines))
            stack.append((now, taken or now))
        else:
            now = holds(kind, rest, defines)
            stack.append((now, now))
        out.append("")
    return "\n".join(out)


def words(text, values):
    """Words that a project replaces."""
    for name, value in values.items():
        text = re.sub(rf"\b{name}\b", value, text)
    return text


def renamed(text, names):
    """Names replaced, but not those of members."""
    out = ""
    for part in re.split(r"(\bstruct\s+\w+\s*\{[^{}]*\})", text):
        member = r"(?!\s*:)" if part.startswith("struct") else ""
        for name, instead in names.items():
            part = re.sub(rf"(?<![.\w]){name}\b{member}", instead, part) if name != instead else part
        out += part
    return out


class Modules:
    """Files that import each other in naga_oil's way, written behind one another."""

    def __init__(self, folders, defines, aliases):
        self.defines, self.aliases = defines, aliases
        self.files = {}
        for folder in folders:
            for path in sorted(folder.rglob("*.wgsl")):
                text = path.read_text()
                named = re.search(r"^\s*#define_import_path\s+([\w:]+)", text, re.M)
                if named:
                    self.files[named.group(1)] = text

    def known(self, path):
        """The module of an imported path, and what of it is imported."""
        if path in self.files:
            return path, None
        module, _, item = path.rpartition("::")
        return (module, item) if module in self.files else (None, None)

    def paths(self, spec, before=""):
        """Paths and names of `a::b::{c, d as e}`."""
        depth, part, parts = 0, "", []
        for letter in spec:
            depth += (letter == "{") - (letter == "}")
            if letter == "," and depth == 0:
                parts.append(part)
                part = ""
            else:
                part += letter
        for part in [*parts, part]:
            part = part.strip()
            if not part:
                continue
            if "{" in part:
                head, inner = part.split("{", 1)
                yield from self.paths(inner.rsplit("}", 1)[0], before + head.strip())
            else:
                path, _, alias = part.partition(" as ")
                path = before + path.strip()
                yield path, alias.strip() or path.rsplit("::", 1)[-1]

    def own_name(self, module, item):
        """The name in the joined text: declarations of different modules may have the same."""
        if item not in self.declared(module):
            return item
        return f"{item}_{sorted(self.files).index(module)}m"

    def declared(self, module):
        text = conditions(self.files.get(module, ""), self.defines)
        declaration = r"^[ \t]*(?:@[^\n]*\)[ \t]*)?(?:fn|struct|alias|(?:var|override)(?:<[^>]*>)?)[ \t]+(\w+)|^const[ \t]+(\w+)"
        # Those of functions lie deeper.
        top = re.sub(r"\{(?:[^{}]|\{(?:[^{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})*\})*\}", "{}", text)
        return {first or second for first, second in re.findall(declaration, top, re.M)}

    def imports(self, text):
        """The text without its imports, and what those are."""
        out, pairs = "", []
        while found := re.search(r"^[ \t]*#import\b", text, re.M):
            out += text[: found.start()]
            text = text[found.end() :]
            depth, at = 0, 0
            while at < len(text) and (depth > 0 or text[at] not in "\n;"):
                depth += (text[at] == "{") - (text[at] == "}")
                at += 1
            pairs.extend(self.paths(text[:at]))
            text = text[at:].removeprefix(";")
        return out + text, pairs

    def flat(self, text, seen, own=None):
        text = re.sub(r"//[^\n]*", "", re.sub(r"/\*.*?\*/", "", words(text, self.aliases), flags=re.S))
        text = conditions(re.sub(r"^\s*#define_import_path.*$", "", text, flags=re.M), self.defines)
        text = re.sub(r"(?:##|#\{?)([A-Z]\w+?)(?:##|\}|\b)", lambda found: self.defines[found.group(1)], text)
        text, imports = self.imports(text)
        before, names = "", {item: self.own_name(own, item) for item in self.declared(own)} if own else {}
        for path, alias in imports:
            module, item = self.known(path)
            if module is None:
                raise ValueError(f"no module for {path}")
            before += self.module(module, seen)
            if item is None:
                text = re.sub(rf"\b(?:{alias}|{path})::(\w+)", lambda found: self.own_name(module, found.group(1)), text)
            else:
                names[alias] = self.own_name(module, item)
        for path in sorted(set(re.findall(r"\b(?:\w+::)+\w+", text)), key=len, reverse=True):
            module, item = self.known(path)
            if item is not None:
                before += self.module(module, seen)
                text = text.replace(path, self.own_name(module, item))
        return before + renamed(text, names) + "\n"

    def module(self, name, seen):
        if name in seen:
            return ""
        seen.add(name)
        return self.flat(self.files[name], seen, name)


def is_compute(text):
    return re.search(r"@compute|stage\(compute\)", text) is not None


def enables_first(text):
    """Directives stand before everything else."""
    directive = r"^[ \t]*(?:enable|diagnostic|requires)\b[^;{}]*;"
    found = sorted(set(line.strip() for line in re.findall(directive, text, re.M)))
    return "\n".join(found) + "\n" + re.sub(directive, "", text, flags=re.M)


def plain(package, _):
    for path in sorted(package.rglob("*.wgsl")):
        yield path.stem, path.read_text()


def oil(defines, beside=(), ways=None, aliases=None):
    """`ways` are, for a file, the further definitions of each of its pipelines, and what tells those apart."""

    def texts(package, packages):
        folders = [package, *(packages / name for name in beside)]
        for path in sorted(package.rglob("*.wgsl")):
            text = path.read_text()
            if not is_compute(text):
                continue
            own = re.search(r"^\s*#define_import_path\s+([\w:]+)", text, re.M)
            own = own and own.group(1)
            for way, further in (ways or {}).get(path.stem, {"": ()}).items():
                modules = Modules(folders, {**defines, **dict.fromkeys(further, "")}, aliases or {})
                yield path.stem + way, modules.flat(text, {own}, own)

    return texts


def web_rwkv(package, _):
    """Macros of `src/tensor/ops.rs`: every text with f32 and with f16 in memory, those of subgroups for each size."""
    ops = (package / "src/tensor/ops.rs").read_text()
    activations = re.search(r'ACTIVATION_DEFINE: &str = "(.*?)";', ops, re.S).group(1)
    values = {"BLOCK_SIZE": "128u", "BLOCK_SIZE_X": "16u", "BLOCK_SIZE_Y": "16u", "HEAD_SIZE": "16u", "EPS": "1.0e-5",
              "SCALE": "2.0", "BIAS": "1.0", "NF4_BLOCK_SIZE": "64u", "INT8_BLOCK_SIZE": "128u", "ACT": "squared_relu",
              "ACT_X": "silu", "ACT_Y": "sigmoid", "ACT_OUT": "custom_tanh", "ACTIVATION_DEFINE": activations}
    halves = [name + "FP16" for name in ("", "IN_", "OUT_", "A_", "K_", "FACTOR_", "TIME_MIX_")]
    for path in sorted((package / "src/shaders").rglob("*.wgsl")):
        text = path.read_text()
        # Workgroups of two dimensions are smaller.
        values["BLOCK_SIZE"] = "8u" if "workgroup_size(BLOCK_SIZE, BLOCK_SIZE" in text else "128u"
        ways = {"f32": {}, "f16": dict.fromkeys(halves, "")}
        for flag in ("GROUP_NORM", "REVERSED", "SPARSE_INPUT", "STATS", "V7"):
            if re.search(rf"#ifdef {flag}\b", text):
                ways[flag.lower()] = {flag: ""}
        if path.parent.name == "subgroup":
            ways = {f"{way}_{least}_{most}": {**defines, f"SUBGROUP_SIZE_{least}_{most}": "",
                                              "MIN_SUBGROUP_SIZE": f"{least}u", "MAX_SUBGROUP_SIZE": f"{most}u"}
                    for way, defines in ways.items() for least, most in ((32, 32),)}
        for way, defines in ways.items():
            numbers = {**values, **{name: value for name, value in defines.items() if value}}
            yield f"{path.parent.name}_{path.stem}_{way}", words(conditions(text, defines), numbers)


def vello(package, _):
    """Permutations of `shader/permutations`, with names of `shader/shared` imported where they are asked for."""
    shared = {path.stem: path.read_text() for path in (package / "shader/shared").glob("*.wgsl")}

    def whole(text, defines):
        imported = lambda found: whole(shared[found.group(1)], defines)
        return re.sub(r"^\s*#import\s+(\w+)\s*$", imported, conditions(text, defines), flags=re.M)

    ways, current = {}, None
    for line in (package / "shader/permutations").read_text().splitlines():
        if line.startswith("+"):
            name, _, defines = line[1:].partition(":")
            ways.setdefault(current, []).append((name.strip(), defines.split()))
        elif line.strip() and not line.startswith("#"):
            current = line.strip()
    for path in sorted((package / "shader").glob("*.wgsl")):
        for name, defines in ways.get(path.stem, [(path.stem, [])]):
            text = whole(path.read_text(), dict.fromkeys(["full", *defines], ""))
            yield name, re.sub(r"^\s*#enable.*$", "", text, flags=re.M)


def wgpu_sort(package, _):
    numbers = {"histogram_sg_size": 32, "histogram_wg_size": 256, "rs_radix_log2": 8, "rs_radix_size": 256, "rs_keyval_size": 4,
               "rs_histogram_block_rows": 15, "rs_scatter_block_rows": 15, "rs_mem_dwords": 4352,
               "rs_mem_sweep_0_offset": 0, "rs_mem_sweep_1_offset": 128, "rs_mem_sweep_2_offset": 192}
    text = (package / "src/radix_sort.wgsl").read_text()
    for name, value in {"histogram_wg_size": "256", "prefix_wg_size": "128", "scatter_wg_size": "256"}.items():
        text = text.replace("{" + name + "}", value)
    yield "radix_sort", "".join(f"const {name}: u32 = {value}u;\n" for name, value in numbers.items()) + text


def forma(package, _):
    """WGSL of 2022: constants of modules were `let`, entry points `@stage(compute)`."""
    for path in sorted((package / "src/gpu").rglob("*.wgsl")):
        text = path.read_text()
        for name, value in {"block_width": "32", "block_height": "8", "block_len": "256"}.items():
            text = text.replace("{{" + name + "}}", value)
        yield path.stem, re.sub(r"^let\b", "const", text, flags=re.M).replace("@stage(compute)", "@compute")


def wgpu_core(package, _):
    folder = package / "src/timestamp_normalization"
    yield "timestamp_normalization", "".join((folder / f"{name}.wgsl").read_text() for name in ("common", "timestamp_normalization"))
    yield "validate_draw", (package / "src/indirect_validation/validate_draw.wgsl").read_text()


# What Bevy's programs define; the values are those of its plugins' defaults.
BEVY = {"AVAILABLE_STORAGE_BUFFER_BINDINGS": "8", "MAX_CASCADES_PER_LIGHT": "4", "MAX_DIRECTIONAL_LIGHTS": "10",
        "MATERIAL_BIND_GROUP": "3", "MAX_RECT_LIGHTS": "8", "SLICE_COUNT": "3",
        "SAMPLES_PER_SLICE_SIDE": "3", "TEXTURE_FORMAT": "rgba16float"}
SPLATS = {"RADIX_BASE": "256", "RADIX_BITS_PER_DIGIT": "8", "RADIX_DIGIT_PLACES": "4", "ENTRIES_PER_INVOCATION_A": "4",
          "ENTRIES_PER_INVOCATION_C": "4", "WORKGROUP_INVOCATIONS_A": "256", "WORKGROUP_INVOCATIONS_C": "256",
          "WORKGROUP_ENTRIES_A": "1024", "WORKGROUP_ENTRIES_C": "1024", "TEMPORAL_SORT_WINDOW_SIZE": "16",
          "RADIX_KEY_SHIFT": "0", "SH_COEFF_COUNT": "48", "HALF_SH_COEFF_COUNT": "24", "SH_4D_COEFF_COUNT": "144",
          "BUFFER_STORAGE": "", "PLANAR_F32": "", "GAUSSIAN_3D": "", "GAUSSIAN_3D_STRUCTURE": "", "USE_OBB": ""}
BEVY_FOLDERS = ("bevy_pbr-0.19.1", "bevy_core_pipeline-0.19.1", "bevy_render-0.19.1")
SPLAT_WAYS = {"particle": {"": ["READ_WRITE_POINTS"]}, "interpolate": {"": ["READ_WRITE_POINTS", "BINARY_GAUSSIAN_OP"]}}
RASTER = ["MESHLET_VISIBILITY_BUFFER_RASTER_PASS"]
BEVY_WAYS = {
    "visibility_buffer_software_raster": {"_depth": RASTER, "_output": [*RASTER, RASTER[0] + "_OUTPUT"]},
    "downsample": {"": ["COMBINE_BIND_GROUP"], "_subgroups": ["COMBINE_BIND_GROUP", "SUBGROUP_SUPPORT"],
                   "_array": ["COMBINE_BIND_GROUP", "ARRAY_TEXTURE"]},
    **{f"cull_{what}": {f"_{way.lower()}": [f"MESHLET_{culling}_CULLING_PASS", f"MESHLET_{way}_CULLING_PASS"]
                        for way in ("FIRST", "SECOND")}
       for what, culling in (("bvh", "BVH"), ("clusters", "CLUSTER"), ("instances", "INSTANCE"))},
}
WG = {"DIM": "3"}
WG3 = ("wgebra-0.2.0", "wgparry3d-0.2.0", "wgrapier3d-0.2.0")
WG_TYPES = {"Transform": "Pose::Sim3", "AngVector": "vec3<f32>", "Vector": "vec3<f32>"}

PROJECTS = {
    "web-rwkv-0.10.20": web_rwkv,
    "vello_shaders-0.11.0": vello,
    "wgpu_sort-0.1.0": wgpu_sort,
    "forma-render-0.1.3": forma,
    "wgpu-0.14.2": plain,
    "wgpu-core-30.0.1": wgpu_core,
    "wgpu-hal-30.0.1": plain,
    "encase-0.12.1": plain,
    "wgcore-0.2.2": oil(WG),
    "wgebra-0.2.0": oil(WG),
    "wgrapier3d-0.2.0": oil(WG, WG3, aliases=WG_TYPES),
    "bevy_gaussian_splatting-8.0.2": oil({**BEVY, **SPLATS}, BEVY_FOLDERS, SPLAT_WAYS),
    "bevy_pbr-0.19.1": oil(BEVY, BEVY_FOLDERS, BEVY_WAYS),
    "bevy_core_pipeline-0.19.1": oil(BEVY, BEVY_FOLDERS, BEVY_WAYS),
    "bevy_render-0.19.1": oil(BEVY, BEVY_FOLDERS, BEVY_WAYS),
}


def main():
    packages, out = Path(sys.argv[1]), Path(sys.argv[2])
    needed = dict.fromkeys([*PROJECTS, *WG3, *BEVY_FOLDERS])
    missing = [name for name in needed if not (packages / name).is_dir()]
    if missing:
        sys.exit(f"{packages} lacks {', '.join(missing)}: `cargo fetch` a project that depends on them")
    for name, texts in PROJECTS.items():
        count = 0
        for stem, text in texts(packages / name, packages):
            if is_compute(text):
                folder = out / name
                folder.mkdir(parents=True, exist_ok=True)
                (folder / f"{stem}.wgsl").write_text(enables_first(text))
                count += 1
        print(f"{name}: {count} texts")


if __name__ == "__main__":
    main()
