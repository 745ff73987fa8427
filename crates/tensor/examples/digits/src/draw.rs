//! Draws small grey images side by side in a terminal.

/// One row of images: `pixels` holds 8×8 values from 0 to 16 each, `captions` stand below.
pub(crate) fn row(images: &[&[u8]], captions: &[String]) -> String {
    const SHADES: [&str; 5] = ["  ", "░░", "▒▒", "▓▓", "██"];
    let mut text = String::new();
    for y in 0..8 {
        for image in images {
            for x in 0..8 {
                let ink = image.get(y * 8 + x).copied().unwrap_or(0);
                text.push_str(SHADES[usize::from(ink.min(16)).div_ceil(4)]);
            }
            text.push_str("   ");
        }
        text.push('\n');
    }
    for caption in captions {
        text.push_str(&format!("{caption:<19}"));
    }
    text.push('\n');
    text
}
