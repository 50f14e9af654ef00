//! A hash of bytes that is stored: FNV-1a with 64 bits. Sessions and clients keep its values, so it must never change.

/// The hash of no bytes.
pub(crate) const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// The hash of the bytes of `hash` with `bytes` after them.
pub(crate) fn continued(hash: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_its_definition() {
        // The test values of FNV-1a's authors.
        for (text, hash) in [("", EMPTY), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)] {
            assert_eq!(continued(EMPTY, text.bytes()), hash, "{text}");
        }
        assert_eq!(continued(continued(EMPTY, "foo".bytes()), "bar".bytes()), continued(EMPTY, "foobar".bytes()));
    }
}
