//! The instructions of pickles that dictionaries of tensors are made of (protocol 2).

use std::collections::HashMap;
use std::rc::Rc;

use super::value::{DEEPEST, Described, Dicts, Memory, Value};
use super::{Stop, StoredType, TorchProblem, wrong};
use crate::cursor::Cursor;

/// Runs one pickle, which is to make a dictionary.
pub(super) fn dictionary(cursor: &mut Cursor<'_>) -> Result<Dicts, Stop> {
    let (value, machine) = run(cursor)?;
    match value {
        Value::Dict(first) => Ok(Dicts {
            all: machine.dicts,
            first,
        }),
        _ => Err(field(cursor.at(), "the pickle", "a dictionary")),
    }
}

/// Passes over one pickle.
pub(super) fn skip(cursor: &mut Cursor<'_>) -> Result<(), Stop> {
    run(cursor).map(|_| ())
}

/// Runs one pickle, which is to make a list of texts.
pub(super) fn texts(cursor: &mut Cursor<'_>) -> Result<Vec<Rc<str>>, Stop> {
    let (value, machine) = run(cursor)?;
    match value {
        Value::List => Ok(machine.texts),
        _ => Err(field(cursor.at(), "the pickle", "a list")),
    }
}

fn run(cursor: &mut Cursor<'_>) -> Result<(Value, Machine), Stop> {
    let mut machine = Machine::default();
    loop {
        machine.at = cursor.at();
        if let Some(value) = machine.step(cursor)? {
            return Ok((value, machine));
        }
    }
}

fn field(offset: u64, what: &'static str, expected: &'static str) -> Stop {
    wrong(offset, TorchProblem::Field { what, expected })
}

#[derive(Debug, Default)]
struct Machine {
    stack: Vec<Value>,
    /// Where on the stack marks are.
    marks: Vec<usize>,
    memo: HashMap<u32, Value>,
    dicts: Vec<Vec<(Rc<str>, Value)>>,
    /// What was appended to lists: only one list is ever asked for.
    texts: Vec<Rc<str>>,
    /// The instruction's offset.
    at: u64,
}

impl Machine {
    fn wrong(&self, problem: TorchProblem) -> Stop {
        wrong(self.at, problem)
    }

    fn field(&self, what: &'static str, expected: &'static str) -> Stop {
        field(self.at, what, expected)
    }

    fn pop(&mut self) -> Result<Value, Stop> {
        let floor = self.marks.last().copied().unwrap_or(0);
        let value = (self.stack.len() > floor)
            .then(|| self.stack.pop())
            .flatten();
        value.ok_or_else(|| self.field("the pickle's stack", "longer for this instruction"))
    }

    fn peek(&self) -> Result<&Value, Stop> {
        let value = self.stack.last();
        value.ok_or_else(|| self.field("the pickle's stack", "longer for this instruction"))
    }

    /// What is above the last mark.
    fn marked(&mut self) -> Result<Vec<Value>, Stop> {
        let mark = self.marks.pop();
        let mark = mark.ok_or_else(|| self.field("the pickle's stack", "marked"))?;
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }

    fn tuple(&mut self, all: Vec<Value>) -> Result<(), Stop> {
        let depth = all.iter().map(Value::depth).max().unwrap_or(0);
        if depth >= DEEPEST {
            return Err(self.field("a tuple", "less deep"));
        }
        self.stack.push(Value::Tuple(all.into(), depth + 1));
        Ok(())
    }

    fn recall(&mut self, at: u32) -> Result<(), Stop> {
        let value = self.memo.get(&at).cloned();
        let value = value.ok_or_else(|| self.field("what is recalled", "noted before"))?;
        self.stack.push(value);
        Ok(())
    }

    fn note(&mut self, at: u32) -> Result<(), Stop> {
        let value = self.peek()?.clone();
        self.memo.insert(at, value);
        Ok(())
    }

    fn new_dict(&mut self) {
        self.stack.push(Value::Dict(self.dicts.len()));
        self.dicts.push(Vec::new());
    }

    /// Sets keys, each followed by its value, of the dictionary on top of the stack. Keys that are no texts are passed over.
    fn set(&mut self, pairs: &[Value]) -> Result<(), Stop> {
        let &Value::Dict(at) = self.peek()? else {
            return Err(self.field("what keys are set of", "a dictionary"));
        };
        for pair in pairs.chunks(2) {
            if let ([Value::Text(key), value], Some(dict)) = (pair, self.dicts.get_mut(at)) {
                dict.push((Rc::clone(key), value.clone()));
            }
        }
        Ok(())
    }

    /// Appends to the list on top of the stack.
    fn append(&mut self, values: &[Value]) -> Result<(), Stop> {
        if !matches!(self.peek()?, Value::List) {
            return Err(self.field("what is appended to", "a list"));
        }
        for value in values {
            if let Value::Text(text) = value {
                self.texts.push(Rc::clone(text));
            }
        }
        Ok(())
    }

    /// Runs one instruction; the result if it was the last.
    fn step(&mut self, cursor: &mut Cursor<'_>) -> Result<Option<Value>, Stop> {
        const ARGUMENT: &str = "an instruction of a pickle";
        let code = cursor.u8("the instructions of a pickle")?;
        match code {
            0x80 => {
                if cursor.u8(ARGUMENT)? != 2 {
                    return Err(self.field("the pickle's protocol", "2"));
                }
            }
            b'.' => return self.pop().map(Some),
            b'(' => self.marks.push(self.stack.len()),
            b'}' => self.new_dict(),
            b']' => self.stack.push(Value::List),
            b')' => self.tuple(Vec::new())?,
            b'N' => self.stack.push(Value::None),
            0x88 | 0x89 => self.stack.push(Value::Bool),
            b'K' => {
                let number = cursor.u8(ARGUMENT)?;
                self.stack.push(Value::Int(number.into()));
            }
            b'M' => {
                let number = cursor.u16(ARGUMENT)?;
                self.stack.push(Value::Int(number.into()));
            }
            b'J' => {
                let number = cursor.u32(ARGUMENT)?.cast_signed();
                self.stack.push(Value::Int(number.into()));
            }
            0x8a => {
                let number = self.long(cursor)?;
                self.stack.push(number);
            }
            b'G' => {
                cursor.skip(ARGUMENT, 8)?;
                self.stack.push(Value::Float);
            }
            b'X' => {
                let length = cursor.u32(ARGUMENT)?;
                let text = std::str::from_utf8(cursor.take("a text", length.into())?);
                let text = text.map_err(|_| self.field("a text", "UTF-8"))?;
                self.stack.push(Value::Text(text.into()));
            }
            b'q' => self.note(cursor.u8(ARGUMENT)?.into())?,
            b'r' => self.note(cursor.u32(ARGUMENT)?)?,
            b'h' => self.recall(cursor.u8(ARGUMENT)?.into())?,
            b'j' => self.recall(cursor.u32(ARGUMENT)?)?,
            b't' => {
                let all = self.marked()?;
                self.tuple(all)?;
            }
            0x85..=0x87 => {
                let mut all = Vec::new();
                for _ in 0x84..code {
                    all.insert(0, self.pop()?);
                }
                self.tuple(all)?;
            }
            b's' => {
                let value = self.pop()?;
                let key = self.pop()?;
                self.set(&[key, value])?;
            }
            b'u' => {
                let pairs = self.marked()?;
                self.set(&pairs)?;
            }
            b'a' => {
                let value = self.pop()?;
                self.append(&[value])?;
            }
            b'e' => {
                let values = self.marked()?;
                self.append(&values)?;
            }
            b'c' => {
                let name = [self.line(cursor)?, self.line(cursor)?];
                self.stack.push(Value::Global(name.into()));
            }
            b'Q' => {
                let memory = self.memory()?;
                self.stack.push(memory);
            }
            b'R' => self.call()?,
            // The state of a dictionary is none of its values.
            b'b' => drop(self.pop()?),
            other => return Err(self.wrong(TorchProblem::Instruction(other))),
        }
        Ok(None)
    }

    /// An integer of up to eight bytes; longer ones, such as PyTorch's number, are none that anything is made of.
    fn long(&self, cursor: &mut Cursor<'_>) -> Result<Value, Stop> {
        let length = cursor.u8("a long integer")?;
        let bytes = cursor.take("a long integer", length.into())?;
        let Some(last) = bytes.last() else {
            return Ok(Value::Int(0));
        };
        let fill = if last & 0x80 == 0 { 0 } else { 0xff };
        let mut whole = [fill; 8];
        match whole.get_mut(..bytes.len()) {
            Some(place) => place.copy_from_slice(bytes),
            None => return Ok(Value::None),
        }
        Ok(Value::Int(i64::from_le_bytes(whole)))
    }

    /// A text up to the end of a line.
    fn line(&self, cursor: &mut Cursor<'_>) -> Result<String, Stop> {
        const LONGEST: usize = 256;
        let mut bytes = Vec::new();
        loop {
            match cursor.u8("a name")? {
                b'\n' => break,
                byte => bytes.push(byte),
            }
            if bytes.len() > LONGEST {
                return Err(self.field("a name", "no longer than 256 bytes"));
            }
        }
        String::from_utf8(bytes).map_err(|_| self.field("a name", "UTF-8"))
    }

    /// Memory: `("storage", class, key, device, elements)`, and perhaps a view, which must be none.
    fn memory(&mut self) -> Result<Value, Stop> {
        let found = self.pop()?;
        let rule = "`storage`, a class, a key, a device and a count";
        let Value::Tuple(fields, _) = &found else {
            return Err(self.field("memory", rule));
        };
        match &**fields {
            [
                Value::Text(word),
                Value::Global(class),
                Value::Text(key),
                Value::Text(_),
                Value::Int(elements),
                rest @ ..,
            ] if &**word == "storage" && matches!(rest, [] | [Value::None]) => {
                let [module, name] = &**class;
                let kind = StoredType::of_class(name).filter(|_| module == "torch");
                let kind = kind
                    .ok_or_else(|| self.wrong(TorchProblem::Class(format!("{module}.{name}"))))?;
                let elements = u64::try_from(*elements);
                Ok(Value::Memory(Rc::new(Memory {
                    key: Rc::clone(key),
                    kind,
                    elements: elements.map_err(|_| self.field("memory", rule))?,
                })))
            }
            _ => Err(self.field("memory", rule)),
        }
    }

    /// Calls what makes dictionaries and tensors, and nothing else.
    fn call(&mut self) -> Result<(), Stop> {
        let (arguments, called) = (self.pop()?, self.pop()?);
        let (Value::Tuple(arguments, _), Value::Global(called)) = (&arguments, &called) else {
            return Err(self.field("a call", "of a name with a tuple"));
        };
        let [module, name] = &**called;
        match (module.as_str(), name.as_str(), &**arguments) {
            ("collections", "OrderedDict", []) => self.new_dict(),
            ("torch._utils", "_rebuild_parameter", [tensor @ Value::Tensor(_), ..]) => {
                self.stack.push(tensor.clone());
            }
            (
                "torch._utils",
                "_rebuild_tensor_v2",
                [
                    Value::Memory(memory),
                    Value::Int(offset),
                    Value::Tuple(dims, _),
                    Value::Tuple(strides, _),
                    ..,
                ],
            ) => {
                let described = Described {
                    memory: Rc::clone(memory),
                    offset: self.count(&Value::Int(*offset))?,
                    dims: dims
                        .iter()
                        .map(|x| self.count(x))
                        .collect::<Result<_, _>>()?,
                    strides: strides
                        .iter()
                        .map(|x| self.count(x))
                        .collect::<Result<_, _>>()?,
                };
                if described.dims.len() != described.strides.len() {
                    return Err(self.field("a tensor's strides", "as many as its extents"));
                }
                self.stack.push(Value::Tensor(described.into()));
            }
            _ => {
                let name = format!("{module}.{name}");
                return Err(self.wrong(TorchProblem::Call(name)));
            }
        }
        Ok(())
    }

    fn count(&self, value: &Value) -> Result<u64, Stop> {
        let count = match value {
            Value::Int(count) => u64::try_from(*count).ok(),
            _ => None,
        };
        count.ok_or_else(|| self.field("an extent, a stride or an offset", "a count"))
    }
}
