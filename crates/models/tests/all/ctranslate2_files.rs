//! Files of CTranslate2: those of its own package are read, and every malformed field is named.

use ziggurat_models::Error;
use ziggurat_models::ctranslate2::{
    Ctranslate2Error, Ctranslate2File, Ctranslate2Problem as Problem,
};
use ziggurat_tensor::io::SafetensorsFile;

use crate::data;
use crate::decoders::{device, values};

const EMBEDDINGS: &str = "decoder/embeddings/weight";

#[test]
fn tensors_are_those_that_the_package_wrote() {
    let device = device();
    let file = Ctranslate2File::open(data("whisper-ctranslate2/model.bin")).unwrap();
    let other = SafetensorsFile::open(data("whisper/model.safetensors")).unwrap();
    assert_eq!((file.layout(), file.revision()), ("WhisperSpec", 3));
    assert_eq!(file.integer("encoder/num_heads").unwrap(), Some(2));
    assert_eq!(file.integer("decoder/pre_norm").unwrap(), Some(1));
    assert_eq!(file.integer(EMBEDDINGS).unwrap(), None);
    assert_eq!(file.dims(EMBEDDINGS), Some(&[276, 16][..]));
    assert_eq!(file.dims("decoder/projection/weight"), Some(&[276, 16][..]));
    assert!(file.names().all(|name| name != "decoder/projection/weight"));
    let expected = |name: &str| values(&other.load(&device, name).unwrap());
    let whole = file.load(&device, EMBEDDINGS, [0, 1]).unwrap();
    assert_eq!(
        values(&whole),
        expected("model.decoder.embed_tokens.weight")
    );
    let joined = "encoder/layer_1/self_attention/linear_0/weight";
    for (part, name) in ["q", "k", "v"].into_iter().enumerate() {
        let one = file.load(&device, joined, [part, 3]).unwrap();
        assert_eq!(one.dims(), [16, 16]);
        let name = format!("model.encoder.layers.1.self_attn.{name}_proj.weight");
        assert_eq!(values(&one), expected(&name), "{name}");
    }
    for parts in [[3, 3], [0, 5], [0, 0]] {
        let error = file.load(&device, joined, parts).unwrap_err();
        assert!(matches!(error, Error::Unsupported(_)), "{error}");
    }
    let error = file.load(&device, "encoder/num_heads", [0, 1]).unwrap_err();
    assert!(error.to_string().contains("integers"), "{error}");
    let error = file.load(&device, "encoder", [0, 1]).unwrap_err();
    assert!(matches!(error, Error::MissingTensor { .. }), "{error}");
}

/// A file with a tensor `[2, 2]` of f32, a number, and an alias.
#[derive(Clone)]
struct Fields {
    version: u32,
    layout: &'static [u8],
    names: [&'static [u8]; 2],
    rank: u8,
    kind: u8,
    size: u32,
    aliases: Vec<[&'static [u8]; 2]>,
    rest: usize,
}

impl Fields {
    fn new() -> Self {
        Self {
            version: 6,
            layout: b"Spec\0",
            names: [b"a/weight\0", b"b\0"],
            rank: 2,
            kind: 0,
            size: 16,
            aliases: vec![[b"c\0", b"a/weight\0"]],
            rest: 0,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = self.version.to_le_bytes().to_vec();
        fn text(out: &mut Vec<u8>, text: &[u8]) {
            out.extend((text.len() as u16).to_le_bytes());
            out.extend(text);
        }
        text(&mut out, self.layout);
        out.extend(1u32.to_le_bytes());
        out.extend(2u32.to_le_bytes());
        text(&mut out, self.names[0]);
        out.push(self.rank);
        for _ in 0..self.rank {
            out.extend(2u32.to_le_bytes());
        }
        out.push(self.kind);
        out.extend(self.size.to_le_bytes());
        for x in [1.0f32, 2.0, 3.0, 4.0] {
            out.extend(x.to_le_bytes());
        }
        text(&mut out, self.names[1]);
        out.extend([0, 1, 1, 0, 0, 0, 0xff]);
        out.extend((self.aliases.len() as u32).to_le_bytes());
        for [alias, name] in &self.aliases {
            text(&mut out, alias);
            text(&mut out, name);
        }
        out.resize(out.len() + self.rest, 0);
        out
    }
}

fn problem(bytes: Vec<u8>) -> Ctranslate2Error {
    match Ctranslate2File::from_bytes(bytes) {
        Err(Error::Ctranslate2 { source, .. }) => source,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_malformed_field_is_named_with_its_offset() {
    let whole = Fields::new();
    let file = Ctranslate2File::from_bytes(whole.bytes()).unwrap();
    assert_eq!(file.names().collect::<Vec<_>>(), ["a/weight", "b"]);
    assert_eq!(file.integer("b").unwrap(), Some(-1));
    let c = file.load(&device(), "c", [1, 2]).unwrap();
    assert_eq!((c.dims(), values(&c)), (&[1, 2][..], vec![3.0, 4.0]));

    let name = || "a/weight".to_owned();
    let size = |dims: &[usize], width, bytes| Problem::Size {
        name: name(),
        dims: dims.to_vec(),
        width,
        bytes,
    };
    let with = |change: fn(&mut Fields)| {
        let mut fields = Fields::new();
        change(&mut fields);
        problem(fields.bytes())
    };
    let end = whole.bytes().len() as u64;
    for (error, offset, expected) in [
        (with(|f| f.version = 5), 0, Problem::Version(5)),
        (
            with(|f| f.layout = b"Spec"),
            4,
            Problem::Text("the name of the layout"),
        ),
        (
            with(|f| f.layout = b"\xff\0"),
            4,
            Problem::Text("the name of the layout"),
        ),
        (
            with(|f| f.names[0] = b""),
            19,
            Problem::Text("the name of a tensor"),
        ),
        (with(|f| f.rank = 1), 36, size(&[2], 4, 16)),
        (
            with(|f| f.rank = 255),
            31 + 255 * 4 + 1,
            size(&[2; 255], 4, 16),
        ),
        (
            with(|f| f.kind = 6),
            39,
            Problem::ElementType {
                name: name(),
                id: 6,
            },
        ),
        (with(|f| f.kind = 4), 40, size(&[2, 2], 2, 16)),
        (
            with(|f| f.size = u32::MAX),
            40,
            size(&[2, 2], 4, u32::MAX.into()),
        ),
        (
            with(|f| f.names[1] = b"a/weight\0"),
            60,
            Problem::Duplicate(name()),
        ),
        (
            with(|f| f.aliases[0][0] = b"b\0"),
            75,
            Problem::Duplicate("b".into()),
        ),
        (
            with(|f| f.aliases.push(f.aliases[0])),
            90,
            Problem::Duplicate("c".into()),
        ),
        (with(|f| f.rest = 3), end, Problem::Rest(3)),
    ] {
        assert_eq!(
            (error.offset, &error.problem),
            (offset, &expected),
            "{error}"
        );
    }
    let error = with(|f| f.aliases[0][1] = b"d\0");
    assert!(matches!(error.problem, Problem::Alias { .. }), "{error}");
    for len in 0..end {
        let error = problem(whole.bytes()[..len as usize].to_vec());
        assert!(
            matches!(error.problem, Problem::Truncated { .. }),
            "{len}: {error}"
        );
        assert!(error.offset <= len);
    }
    let missing = Ctranslate2File::open("no such file").unwrap_err();
    assert!(
        matches!(missing, Error::Io { action: "read", .. }),
        "{missing}"
    );
}
