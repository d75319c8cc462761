//! JSON Pointers (RFC 6901).

/// The names that a pointer goes through.
pub fn names(pointer: &str) -> Vec<String> {
    let parts = pointer.split('/').skip(1);
    parts
        .map(|part| part.replace("~1", "/").replace("~0", "~"))
        .collect()
}

/// A name as a part of a pointer.
pub fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_from_a_pointer() {
        let of = ["a/b", "~1", "", "c~d"];
        let pointer: String = of
            .iter()
            .map(|name| format!("/{}", escaped(name)))
            .collect();
        assert_eq!(pointer, "/a~1b/~01//c~0d");
        assert_eq!(names(&pointer), of);
        assert!(names("").is_empty(), "the whole");
    }
}
