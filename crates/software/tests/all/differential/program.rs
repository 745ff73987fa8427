//! Random compute shaders that are valid, end, and have one right answer.
//!
//! Integers wrap; floats are kept to small whole numbers, which every order of exact operations
//! leaves exact. Barriers stand where all invocations come by; atomics commute and give nothing
//! back. So two implementations must agree on every bit.

use std::fmt::Write as _;

use crate::random::Random;

/// Invocations of a workgroup.
pub(crate) const WORKGROUP: u32 = 64;
/// Workgroups of a dispatch.
pub(crate) const GROUPS: u32 = 2;
/// Words of the second output, which atomics change.
pub(crate) const TOTALS: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Int,
    Uint,
    Float,
    Bool,
}

use Type::{Bool, Float, Int, Uint};

struct Writer<'a> {
    random: &'a mut Random,
    out: String,
    /// Loops so far, for the names of their counters.
    loops: u32,
    indent: usize,
    /// Whether `helper` may be called.
    helper: bool,
    /// Whether workgroup variables may be named.
    shared: bool,
}

/// The text of a shader.
pub(crate) fn program(random: &mut Random) -> String {
    let mut writer = Writer {
        random,
        out: String::new(),
        loops: 0,
        indent: 0,
        helper: false,
        shared: false,
    };
    writer.all();
    writer.out
}

impl Writer<'_> {
    fn chance(&mut self, of: usize) -> bool {
        self.random.below(of) == 0
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}{text}", "  ".repeat(self.indent));
    }

    fn all(&mut self) {
        self.line("@group(0) @binding(0) var<storage, read> data: array<u32>;");
        self.line("@group(0) @binding(1) var<storage, read_write> out: array<u32>;");
        self.line(&format!(
            "@group(0) @binding(2) var<storage, read_write> totals: array<atomic<u32>, {TOTALS}>;"
        ));
        self.line("struct Pair { a: i32, b: vec3<u32>, c: array<f32, 2> }");
        self.line(&format!("var<workgroup> tile: array<u32, {WORKGROUP}>;"));
        self.line("var<workgroup> most: atomic<u32>;");
        self.line("var<workgroup> sum: array<atomic<i32>, 4>;");
        self.line("var<private> kept: u32 = 3u;");
        // So that naga does not evaluate, and refuse, what overflows.
        self.line("var<private> zero: i32;");
        self.line("var<private> none: u32;");
        self.line("fn helper(p: i32, q: u32, slot: ptr<function, i32>) -> u32 {");
        self.indent = 1;
        self.line("var i0 = p; var i1 = 7; var u0 = q; var u1 = 11u; var f0 = f32(q & 31u); var f1 = 2.0; var b0 = q > 9u;");
        self.line("var list = array<u32, 4>(q, 1u, 2u, 3u); var pair = Pair();");
        self.block(2, true);
        let (value, back) = (self.expression(Int, 2), self.expression(Uint, 2));
        self.line(&format!("*slot = {value};"));
        self.line(&format!("return {back};"));
        self.indent = 0;
        self.line("}");
        self.helper = true;
        self.shared = true;
        self.line(&format!("@compute @workgroup_size({WORKGROUP})"));
        self.line("fn main(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) wid: vec3<u32>) {");
        self.indent = 1;
        self.line("var u0 = data[gid.x]; var u1 = lane; var i0 = i32(u0); var i1 = i32(lane) - 20; var f0 = f32(u0 & 63u); var f1 = f32(lane) - 8.0; var b0 = (u0 & 1u) == 0u;");
        self.line("var list = array<u32, 4>(u0, lane, wid.x, 5u); var pair = Pair(i1, gid, array<f32, 2>(f0, 1.0));");
        for _ in 0..2 + self.random.below(4) {
            match self.random.below(4) {
                0 => self.exchange(),
                1 => self.reduction(),
                2 => self.agreement(),
                _ => self.block(3, false),
            }
        }
        self.line("workgroupBarrier();");
        self.line("let all = atomicLoad(&most) ^ u32(atomicLoad(&sum[lane & 3u]));");
        self.line("let parts = pair.b.x ^ pair.b.y * 3u ^ pair.b.z * 5u ^ u32(pair.a) ^ u32(i32(pair.c[0])) ^ u32(i32(pair.c[1])) * 7u;");
        self.line("let more = list[0] ^ list[1] * 3u ^ list[2] * 5u ^ list[3] * 7u ^ kept;");
        self.line("out[gid.x * 8u] = u0; out[gid.x * 8u + 1u] = u1; out[gid.x * 8u + 2u] = u32(i0); out[gid.x * 8u + 3u] = u32(i1);");
        self.line("out[gid.x * 8u + 4u] = u32(i32(f0)); out[gid.x * 8u + 5u] = u32(i32(f1)); out[gid.x * 8u + 6u] = parts ^ all; out[gid.x * 8u + 7u] = more + select(0u, 1u, b0);");
        self.indent = 0;
        self.line("}");
    }

    /// Values go from lane to lane.
    fn exchange(&mut self) {
        let (value, by) = (self.expression(Uint, 3), self.random.below(64));
        self.line("workgroupBarrier();");
        self.line(&format!("tile[lane] = {value};"));
        self.line("workgroupBarrier();");
        let mix = *self.random.pick(&["^", "+", "|"]);
        self.line(&format!(
            "u0 = u0 {mix} tile[(lane + {by}u) % {WORKGROUP}u];"
        ));
    }

    /// A tree over the workgroup.
    fn reduction(&mut self) {
        let value = self.expression(Uint, 3);
        let combine = *self.random.pick(&[
            "tile[lane] + tile[lane + step]",
            "max(tile[lane], tile[lane + step])",
            "tile[lane] ^ tile[lane + step]",
        ]);
        self.line("workgroupBarrier();");
        self.line(&format!("tile[lane] = {value};"));
        self.line("workgroupBarrier();");
        self.line(&format!("for (var step = {}u; step > 0u; step >>= 1u) {{ if lane < step {{ tile[lane] = {combine}; }} workgroupBarrier(); }}", WORKGROUP / 2));
        self.line("u1 += tile[0];");
    }

    /// One value that all invocations know, and control flow by it.
    fn agreement(&mut self) {
        let (value, from) = (self.expression(Uint, 2), self.random.below(64));
        self.line("workgroupBarrier();");
        self.line(&format!("tile[lane] = {value};"));
        self.line(&format!(
            "let shared_{} = workgroupUniformLoad(&tile[{from}u]);",
            self.loops
        ));
        self.line(&format!("if (shared_{} & 1u) == 0u {{", self.loops));
        self.loops += 1;
        self.indent += 1;
        self.exchange();
        self.block(2, false);
        self.indent -= 1;
        self.line("}");
    }

    fn block(&mut self, depth: usize, returns: bool) {
        for _ in 0..1 + self.random.below(4) {
            self.statement(depth, returns);
        }
    }

    fn nested(&mut self, head: &str, depth: usize, returns: bool) {
        self.line(&format!("{head} {{"));
        self.indent += 1;
        self.block(depth, returns);
        self.indent -= 1;
    }

    fn statement(&mut self, depth: usize, returns: bool) {
        let kind = if depth == 0 {
            self.random.below(8)
        } else {
            self.random.below(14)
        };
        match kind {
            0..5 => self.assign(),
            5 => {
                let (at, value) = (self.expression(Uint, 1), self.expression(Uint, 2));
                self.line(&format!(
                    "list[{at} % 4u] {} {value};",
                    self.random.clone().pick(&["=", "+=", "^="])
                ));
            }
            6 => self.member(),
            7 if self.shared => self.atomic(),
            7 => self.assign(),
            8 | 9 => {
                let condition = self.expression(Bool, 3);
                self.nested(&format!("if {condition}"), depth - 1, returns);
                if self.chance(2) {
                    self.nested("} else", depth - 1, returns);
                }
                if returns && self.chance(3) {
                    let value = self.expression(Uint, 1);
                    self.line(&format!("  return {value};"));
                }
                self.line("}");
            }
            10 | 11 => self.repeat(depth, returns),
            12 => {
                let selector = self.expression(Uint, 2);
                self.line(&format!("switch {selector} % 5u {{"));
                self.indent += 1;
                self.nested("case 0u, 2u:", depth - 1, returns);
                self.line("}");
                self.nested("case 1u:", depth - 1, returns);
                if self.chance(2) {
                    let condition = self.expression(Bool, 1);
                    self.line(&format!("  if {condition} {{ break; }}"));
                    self.assign();
                }
                self.line("}");
                self.nested("default:", depth - 1, returns);
                self.line("}");
                self.indent -= 1;
                self.line("}");
            }
            _ => {
                self.line("{");
                self.indent += 1;
                let value = self.expression(Int, 2);
                self.line(&format!("let i0 = {value};"));
                let other = self.expression(Int, 2);
                self.line(&format!("i1 = {other};"));
                self.indent -= 1;
                self.line("}");
            }
        }
    }

    fn repeat(&mut self, depth: usize, returns: bool) {
        let name = format!("k{}", self.loops);
        self.loops += 1;
        let times = 1 + self.random.below(5);
        // The count may differ from lane to lane.
        let limit = if self.chance(2) {
            format!("{times}u")
        } else {
            format!("(u1 & {times}u)")
        };
        let kind = self.random.below(3);
        match kind {
            0 => self.nested(
                &format!("for (var {name} = 0u; {name} < {limit}; {name}++)"),
                depth - 1,
                returns,
            ),
            1 => {
                self.line(&format!("var {name} = 0u;"));
                self.nested(&format!("while {name} < {times}u"), depth - 1, returns);
                self.line(&format!("  {name} += 1u;"));
            }
            _ => {
                self.line(&format!("var {name} = 0u;"));
                self.nested("loop", depth - 1, returns);
            }
        }
        self.indent += 1;
        if self.chance(2) {
            let condition = self.expression(Bool, 2);
            self.line(&format!("if {condition} {{ break; }}"));
        }
        if self.chance(2) && kind != 1 {
            let condition = self.expression(Bool, 2);
            self.line(&format!("if {condition} {{ continue; }}"));
            self.assign();
        }
        if kind == 2 {
            self.line(&format!(
                "continuing {{ {name}++; break if {name} >= {times}u; }}"
            ));
        }
        self.indent -= 1;
        self.line("}");
    }

    fn assign(&mut self) {
        let ty = *self.random.pick(&[Int, Int, Uint, Uint, Uint, Float, Bool]);
        let name = self.variable(ty);
        let value = self.expression(ty, 3);
        let operator = match ty {
            Int | Uint => *self
                .random
                .pick(&["=", "=", "+=", "-=", "^=", "*=", "|=", "&="]),
            Float | Bool => "=",
        };
        if self.helper && self.chance(5) {
            let (p, q) = (self.expression(Int, 1), self.expression(Uint, 1));
            self.line(&format!("u0 = helper({p}, {q}, &i1);"));
        }
        self.line(&format!("{name} {operator} {value};"));
    }

    fn member(&mut self) {
        match self.random.below(4) {
            0 => {
                let value = self.expression(Int, 2);
                self.line(&format!("pair.a = {value};"));
            }
            1 => {
                let (at, value) = (self.expression(Uint, 1), self.expression(Uint, 2));
                self.line(&format!("pair.b[{at} % 3u] = {value};"));
            }
            2 => {
                let (at, value) = (self.expression(Uint, 1), self.expression(Float, 2));
                self.line(&format!("pair.c[{at} & 1u] = {value};"));
            }
            _ => {
                let value = self.expression(Uint, 2);
                self.line(&format!("kept ^= {value};"));
            }
        }
    }

    fn atomic(&mut self) {
        let (value, number) = (self.expression(Uint, 2), self.random.below(TOTALS as usize));
        // One function for each place: different ones do not commute with each other.
        let function = ["Add", "Max", "Min", "Or", "And", "Xor", "Sub", "Add"][number];
        match self.random.below(3) {
            0 => self.line(&format!("atomic{function}(&totals[{number}], {value});")),
            1 => self.line(&format!("atomicMax(&most, {value});")),
            _ => {
                let value = self.expression(Int, 2);
                self.line(&format!("atomicAdd(&sum[u0 & 3u], {value});"));
            }
        }
    }

    fn variable(&mut self, ty: Type) -> &'static str {
        let names = match ty {
            Int => ["i0", "i1"],
            Uint => ["u0", "u1"],
            Float => ["f0", "f1"],
            Bool => return "b0",
        };
        names[self.random.below(2)]
    }

    fn expression(&mut self, ty: Type, depth: usize) -> String {
        if depth == 0 || self.chance(6) {
            return match (ty, self.random.below(4)) {
                (Int, 0) => format!(
                    "({} ^ zero)",
                    *self
                        .random
                        .pick(&[0i64, 1, -1, 2, 7, -13, 100, 65_535, 2_147_483_647])
                ),
                (Int, 1) => "pair.a".to_owned(),
                (Uint, 0) => format!(
                    "({}u ^ none)",
                    *self
                        .random
                        .pick(&[0u32, 1, 2, 3, 31, 255, 65_536, u32::MAX])
                ),
                (Uint, 1) => format!("list[{}]", self.random.below(4)),
                (Float, 0) => format!("{}.0", self.random.below(20)),
                (Float, 1) => format!("pair.c[{}]", self.random.below(2)),
                (Bool, 0) => if self.chance(2) { "true" } else { "false" }.to_owned(),
                _ => self.variable(ty).to_owned(),
            };
        }
        let d = depth - 1;
        match ty {
            Int | Uint => self.integer(ty, d),
            Float => self.float(d),
            Bool => self.boolean(d),
        }
    }

    fn integer(&mut self, ty: Type, d: usize) -> String {
        let (a, b) = (self.expression(ty, d), self.expression(ty, d));
        let (name, other, nothing) = if ty == Int {
            ("i32", Uint, "zero")
        } else {
            ("u32", Int, "none")
        };
        match self.random.below(26) {
            0..3 => format!("({a} + {b})"),
            3 | 4 => format!("({a} - {b})"),
            5 | 6 => format!("({a} * {b})"),
            // A constant divisor that is zero is an error of the text; a sum with a variable is no constant.
            7 => format!("({a} / ({b} + {nothing}))"),
            8 => format!("({a} % ({b} + {nothing}))"),
            9 => format!("({a} & {b})"),
            10 => format!("({a} | {b})"),
            11 => format!("({a} ^ {b})"),
            12 => format!("({a} << ({} & 31u))", self.expression(Uint, d)),
            13 => format!("({a} >> ({} & 31u))", self.expression(Uint, d)),
            14 => format!("(~{a})"),
            15 => format!("{}({a}, {b})", *self.random.pick(&["min", "max"])),
            16 => format!("clamp({a}, {name}(2), {name}(200))"),
            17 => format!("select({a}, {b}, {})", self.expression(Bool, d)),
            18 => format!("{name}({})", self.expression(other, d)),
            19 => format!("bitcast<{name}>({})", self.expression(other, d)),
            20 => format!(
                "{}({a})",
                *self.random.pick(&[
                    "countOneBits",
                    "reverseBits",
                    "countLeadingZeros",
                    "countTrailingZeros",
                    "firstLeadingBit",
                    "firstTrailingBit",
                    "abs"
                ])
            ),
            21 => format!(
                "extractBits({a}, {} & 15u, {} & 15u)",
                self.expression(Uint, 0),
                self.expression(Uint, 0)
            ),
            22 => format!(
                "insertBits({a}, {b}, {} & 15u, {} & 15u)",
                self.expression(Uint, 0),
                self.expression(Uint, 0)
            ),
            23 => {
                let (c, e) = (self.expression(ty, d), self.expression(ty, 0));
                let operator = *self.random.pick(&["+", "-", "*", "^", "&"]);
                let swizzle = *self.random.pick(&["xyz", "zyx", "yyz", "xzx"]);
                format!(
                    "dot((vec3<{name}>({a}, {b}, {c}) {operator} vec3<{name}>({e})).{swizzle}, vec3<{name}>({c}, {e}, {a}))"
                )
            }
            24 if ty == Int => format!("{name}({})", self.expression(Float, d)),
            24 => format!("list[{} % 4u]", self.expression(Uint, d)),
            _ if ty == Int => format!("(-{a})"),
            _ => format!(
                "vec4<u32>({a}, {b}, u0, u1)[{} & 3u]",
                self.expression(Uint, 0)
            ),
        }
    }

    /// Whole numbers from -64 to 64: sums, products and halves of them are exact.
    fn float(&mut self, d: usize) -> String {
        let (a, b) = (self.expression(Float, d), self.expression(Float, d));
        let value = match self.random.below(14) {
            0 | 1 => format!("{a} + {b}"),
            2 => format!("{a} - {b}"),
            3 | 4 => format!("{a} * {b}"),
            5 => format!("floor({a} * 0.5)"),
            6 => format!("ceil({a} * 0.25)"),
            7 => format!("{}({a})", *self.random.pick(&["abs", "sign", "trunc", "-"])),
            8 => format!("{}({a}, {b})", *self.random.pick(&["min", "max"])),
            9 => format!("select({a}, {b}, {})", self.expression(Bool, d)),
            10 => format!("f32({} % 64)", self.expression(Int, d)),
            11 => format!("f32({} & 63u)", self.expression(Uint, d)),
            12 => format!("dot(vec2<f32>({a}, {b}), vec2<f32>(2.0, -1.0))"),
            _ => format!("fma({a}, 2.0, {b})"),
        };
        format!("clamp({value}, -64.0, 64.0)")
    }

    fn boolean(&mut self, d: usize) -> String {
        let ty = *self.random.pick(&[Int, Uint, Float]);
        let (a, b) = (self.expression(ty, d), self.expression(ty, d));
        match self.random.below(9) {
            0..5 => format!(
                "({a} {} {b})",
                *self.random.pick(&["<", "<=", ">", ">=", "==", "!="])
            ),
            5 => format!("!({})", self.expression(Bool, d)),
            6 => format!(
                "({} && {})",
                self.expression(Bool, d),
                self.expression(Bool, d)
            ),
            7 => format!(
                "({} || {})",
                self.expression(Bool, d),
                self.expression(Bool, d)
            ),
            _ => format!(
                "any(vec2<bool>({a} < {b}, b0) == vec2<bool>({}, true))",
                self.expression(Bool, d)
            ),
        }
    }
}
