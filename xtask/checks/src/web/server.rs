//! A server of files for one page on this machine, which also takes what the page posts.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use super::memory;
use xtask::failure::Outcome;
use xtask::workspace;

/// The vectors, below the root.
const VECTORS: &str = "crates/tensor/conformance";
/// More than the page ever posts.
const MOST: u64 = 64 << 20;

/// What the page posted.
#[derive(Debug)]
pub(super) enum Message {
    Report(String),
    /// Nothing new, but the page lives.
    Alive,
    End,
    /// Not posted: what a page wrote to its console.
    Console(String),
}

/// The port, and what arrives there.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) port: u16,
    pub(super) messages: Receiver<Message>,
    pub(super) sender: Sender<Message>,
    /// The browser whose memory a page may ask for.
    pub(super) browser: Arc<AtomicU32>,
}

/// Serves the folder, and the conformance vectors below `/conformance`, until the program ends.
pub(super) fn start(folder: &Path) -> Outcome<Server> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let port = listener.local_addr()?.port();
    let (sender, messages) = mpsc::channel();
    let folder = folder.to_path_buf();
    let browser = Arc::new(AtomicU32::new(0));
    let server = Server {
        port,
        messages,
        sender: sender.clone(),
        browser: Arc::clone(&browser),
    };
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (folder, sender, browser) = (folder.clone(), sender.clone(), browser.clone());
            // A request that breaks off is the page's to ask again.
            thread::spawn(move || answer(&stream, &folder, &sender, &browser).ok());
        }
    });
    Ok(server)
}

fn answer(
    stream: &TcpStream,
    folder: &Path,
    sender: &Sender<Message>,
    browser: &AtomicU32,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? == 0 || header.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut words = line.split_whitespace();
    let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    if method == "POST" {
        let mut body = Vec::new();
        reader.take(u64::min(length, MOST)).read_to_end(&mut body)?;
        let message = match path {
            "/end" => Message::End,
            "/alive" => Message::Alive,
            _ => Message::Report(String::from_utf8_lossy(&body).into_owned()),
        };
        // Nobody listens any more when the run is over.
        let _ = sender.send(message);
        return reply(stream, "204 No Content", "text/plain", &[]);
    }
    if path == "/memory" {
        let bytes = memory::of_all(browser.load(Ordering::Relaxed))?;
        return reply(stream, "200 OK", "text/plain", bytes.to_string().as_bytes());
    }
    match file(folder, path).map(fs::read) {
        Some(Ok(bytes)) => reply(stream, "200 OK", kind(path), &bytes),
        _ => reply(stream, "404 Not Found", "text/plain", path.as_bytes()),
    }
}

/// The file of a path, none if it would lie outside.
fn file(folder: &Path, path: &str) -> Option<PathBuf> {
    let path = path.split('?').next()?.strip_prefix('/')?;
    if path.split('/').any(|step| step == "..") {
        return None;
    }
    Some(match path.strip_prefix("conformance/") {
        Some(vectors) => workspace::root().join(VECTORS).join(vectors),
        None => folder.join(path),
    })
}

/// Browsers run modules and wasm only under these names.
fn kind(path: &str) -> &'static str {
    let path = path.split('?').next().unwrap_or_default();
    match path.rsplit('.').next() {
        Some("html") => "text/html",
        Some("css") => "text/css",
        Some("js") => "text/javascript",
        Some("wasm") => "application/wasm",
        _ => "application/octet-stream",
    }
}

fn reply(mut stream: &TcpStream, status: &str, kind: &str, body: &[u8]) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_outside_are_not_served() {
        let folder = Path::new("/page");
        assert_eq!(file(folder, "/a/b.js?x=1"), Some("/page/a/b.js".into()));
        assert!(file(folder, "/conformance/cases.jsonl").is_some_and(|path| path.is_file()));
        assert_eq!(file(folder, "/../secret"), None);
        assert_eq!(file(folder, "/conformance/../../Cargo.toml"), None);
        assert_eq!(kind("/program/a.wasm"), "application/wasm");
        assert_eq!(kind("/index.html?only=x"), "text/html");
    }
}
