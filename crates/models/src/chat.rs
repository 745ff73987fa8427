//! How messages become a prompt: the template that comes with a model.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Environment, ErrorKind, context};

use crate::Error;

/// Steps of a template, so that none runs for ever.
const FUEL: u64 = 10_000_000;

/// A message of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// `system`, `user` or `assistant`.
    pub role: String,
    /// What was said.
    pub content: String,
}

impl Message {
    /// A message.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            role: role.into(),
            content: content.into(),
        }
    }
}

/// A model's template, in the language of Jinja.
///
/// ```
/// use ziggurat_models::{ChatTemplate, Message};
///
/// let template = "{% for m in messages %}<{{ m['role'] }}>{{ m.content.strip() }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
/// let template = ChatTemplate::new(template, "", "")?;
/// assert_eq!(template.render(&[Message::new("user", " hello ")])?, "<user>hello<assistant>");
/// # Ok::<(), ziggurat_models::Error>(())
/// ```
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    begin: String,
    end: String,
}

impl ChatTemplate {
    /// A template, and the names of the tokens that begin and end a text.
    ///
    /// # Errors
    /// If it is not valid.
    pub fn new(source: &str, begin: &str, end: &str) -> Result<Self, Error> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()
            .map_err(wrong)?;
        environment.set_syntax(syntax);
        environment.set_fuel(Some(FUEL));
        environment.add_function(
            "raise_exception",
            |text: String| -> Result<String, minijinja::Error> {
                Err(minijinja::Error::new(ErrorKind::InvalidOperation, text))
            },
        );
        environment.set_unknown_method_callback(|_, value, method, arguments| {
            python(value, method, arguments)
        });
        environment
            .add_template_owned("chat", source.to_owned())
            .map_err(wrong)?;
        Ok(Self {
            environment,
            begin: begin.to_owned(),
            end: end.to_owned(),
        })
    }

    /// The prompt that asks for the answer to these messages.
    ///
    /// # Errors
    /// If the template refuses them (a role that it does not know), or does not end.
    pub fn render(&self, messages: &[Message]) -> Result<String, Error> {
        let message = |message: &Message| context! { role => message.role.as_str(), content => message.content.as_str() };
        let messages: Vec<Value> = messages.iter().map(message).collect();
        let template = self.environment.get_template("chat").map_err(wrong)?;
        let values = context! {
            messages => messages,
            add_generation_prompt => true,
            bos_token => self.begin.as_str(),
            eos_token => self.end.as_str(),
        };
        template.render(values).map_err(wrong)
    }
}

/// The methods of Python's strings that templates use.
fn python(value: &Value, method: &str, arguments: &[Value]) -> Result<Value, minijinja::Error> {
    let unknown = || minijinja::Error::from(ErrorKind::UnknownMethod);
    let text = value.as_str().ok_or_else(unknown)?;
    let argument = |at: usize| arguments.get(at).and_then(Value::as_str);
    let stripped = |left: bool, right: bool| {
        let set = |c: char| argument(0).map_or_else(|| c.is_whitespace(), |set| set.contains(c));
        let text = if left {
            text.trim_start_matches(set)
        } else {
            text
        };
        Value::from(if right {
            text.trim_end_matches(set)
        } else {
            text
        })
    };
    match (method, argument(0), argument(1)) {
        ("strip", ..) => Ok(stripped(true, true)),
        ("lstrip", ..) => Ok(stripped(true, false)),
        ("rstrip", ..) => Ok(stripped(false, true)),
        ("startswith", Some(start), _) => Ok(text.starts_with(start).into()),
        ("endswith", Some(end), _) => Ok(text.ends_with(end).into()),
        ("upper", ..) => Ok(text.to_uppercase().into()),
        ("lower", ..) => Ok(text.to_lowercase().into()),
        ("replace", Some(from), Some(to)) => Ok(text.replace(from, to).into()),
        ("split", Some(at), _) => Ok(text.split(at).map(Value::from).collect::<Vec<_>>().into()),
        _ => Err(unknown()),
    }
}

fn wrong(error: minijinja::Error) -> Error {
    Error::Template(error.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn render(source: &str) -> Result<String, Error> {
        ChatTemplate::new(source, "<s>", "</s>")?.render(&[Message::new("user", "a")])
    }

    #[test]
    fn templates_may_refuse_messages_and_must_end() {
        let error = render("{{ raise_exception('no such role') }}").unwrap_err();
        assert!(error.to_string().contains("no such role"), "{error}");
        let endless = "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}";
        assert!(matches!(render(endless), Err(Error::Template(_))));
        assert!(matches!(render("{% if %}"), Err(Error::Template(_))));
    }

    #[test]
    fn blocks_leave_no_lines_and_names_of_tokens_are_there() {
        let source = "{{ bos_token }}\n{% for m in messages %}\n  {% if m.role == 'user' %}\n{{ m.content.upper() }}\n  {% endif %}\n{% endfor %}\n{{ eos_token }}";
        assert_eq!(render(source).unwrap(), "<s>\nA\n</s>");
    }
}
