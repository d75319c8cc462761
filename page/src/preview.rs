//! Pictures that a browser may show: those of a few kinds, by what is in them and not by what is said of them. None of these kinds can hold a script.

use imagesize::{ImageSize, ImageType, blob_size, image_type};

/// The most pixels on a side and in all: a small file can say that it is a huge picture.
const MAX_SIDE: usize = 16_384;
const MAX_PIXELS: usize = 40_000_000;

/// A picture that can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preview {
    pub(crate) media_type: &'static str,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

impl Preview {
    /// The picture in a file; `None` of a file that is none, or none that is shown.
    pub(crate) fn of(content: &[u8]) -> Option<Self> {
        let media_type = match image_type(content).ok()? {
            ImageType::Png => "image/png",
            ImageType::Jpeg => "image/jpeg",
            ImageType::Gif => "image/gif",
            ImageType::Webp => "image/webp",
            _ => return None,
        };
        let ImageSize { width, height } = blob_size(content).ok()?;
        let is_shown = (1..=MAX_SIDE).contains(&width)
            && (1..=MAX_SIDE).contains(&height)
            && width * height <= MAX_PIXELS;
        is_shown.then_some(Self {
            media_type,
            width,
            height,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The beginning of a PNG of this size, which is all that is looked at.
    pub(crate) fn png(width: u32, height: u32) -> Vec<u8> {
        let mut content = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        content.extend(width.to_be_bytes());
        content.extend(height.to_be_bytes());
        content.extend([8, 2, 0, 0, 0, 0, 0, 0, 0]);
        content
    }

    #[test]
    fn a_picture_is_known_by_what_is_in_it() {
        let shown = Preview::of(&png(30, 20)).expect("a picture");
        assert_eq!(
            (shown.media_type, shown.width, shown.height),
            ("image/png", 30, 20)
        );
        for other in [
            &b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>"[..],
            b"<script>",
            b"",
            b"\x89PNG",
        ] {
            assert_eq!(Preview::of(other), None);
        }
    }

    #[test]
    fn a_picture_that_would_take_up_a_browser_is_not_shown() {
        assert_eq!(Preview::of(&png(16_385, 1)), None);
        assert_eq!(Preview::of(&png(10_000, 10_000)), None);
        assert_eq!(Preview::of(&png(0, 1)), None);
    }
}
