use super::*;
use proptest::prelude::*;

fn canonical(form: KeyForm, text: &str) -> Result<String, KeyError> {
    form.canonical(text.as_bytes()).map(|key| String::from_utf8(key.to_vec()).unwrap())
}

#[test]
fn domains_have_one_spelling() {
    let long = ["a".repeat(63), "b".repeat(63), "c".repeat(63), "d".repeat(61)].join(".");
    for (want, spellings) in [
        ("example.com", &["example.com", "EXAMPLE.Com.", "example\u{3002}com", "\u{ff45}xample.com"][..]),
        (
            "xn--bcher-kva.example",
            &["Bücher.example", "BU\u{308}CHER.EXAMPLE", "xn--bcher-kva.example.", "XN--BCHER-KVA.example"],
        ),
        // UTS 46 without transitional processing: sharp s is a letter of its own.
        ("xn--strae-oqa.de", &["straße.de", "STRAẞE.de"]),
        ("xn--wgv71a119e.jp", &["日本語.jp"]),
        ("_dmarc.example.org", &["_DMARC.example.org"]),
        ("a--b.example", &["a--b.example"]),
        ("1.2.3.4.example", &["1.2.3.4.example"]),
        ("localhost", &["localhost", "LOCALHOST."]),
        (&long, &[&long, &format!("{long}.")]),
    ] {
        for spelling in spellings {
            assert_eq!(canonical(KeyForm::Domain, spelling).as_deref(), Ok(want), "{spelling}");
        }
    }
}

#[test]
fn what_is_no_domain_is_refused() {
    for text in [
        ".",
        "..",
        ".example.com",
        "example..com",
        "example.com..",
        "exa mple.com",
        " example.com",
        "example.com\n",
        "example.com/path",
        "user@example.com",
        "example.com:443",
        "xn--a.example",
        "xn--zz-----.example",
        "192.0.2.1",
        "example.0x7f",
        "a\0b.example",
        "ab\u{200d}c.example",
        &format!("{}.example", "a".repeat(64)),
        &format!("{}.example", ["a".repeat(63), "b".repeat(63), "c".repeat(63), "d".repeat(62)].join(".")),
        &"a.".repeat(100_000),
    ] {
        assert!(canonical(KeyForm::Domain, text).is_err(), "{text:?}");
    }
    assert_eq!(KeyForm::Domain.canonical(b"\xff.example"), Err(KeyError::NotText));
}

#[test]
fn mail_addresses_have_one_spelling() {
    for (want, spellings) in [
        ("jane.doe+news@example.com", &["Jane.Doe+News@Example.COM", "jane.doe+news@example.com."][..]),
        ("o'hara@xn--bcher-kva.example", &["O'Hara@bücher.example"]),
        ("J\u{f6}rg@example.de".to_lowercase().as_str(), &["jo\u{308}rg@example.de", "J\u{f6}rg@EXAMPLE.de"]),
    ] {
        for spelling in spellings {
            assert_eq!(canonical(KeyForm::Email, spelling).as_deref(), Ok(want), "{spelling}");
        }
    }
    // Dots and tags are the owner's to interpret.
    assert_ne!(canonical(KeyForm::Email, "a.b@example.com"), canonical(KeyForm::Email, "ab@example.com"));
    for text in [
        "example.com",
        "@example.com",
        "a@",
        "a b@example.com",
        "\"a b\"@example.com",
        ".a@example.com",
        "a.@example.com",
        "a..b@example.com",
        "a@b@example.com",
        "a@[192.0.2.1]",
        "a@192.0.2.1",
        "<a@example.com>",
        "a\u{a0}b@example.com",
        "a\u{7f}@example.com",
        &format!("{}@example.com", "a".repeat(65)),
    ] {
        assert!(canonical(KeyForm::Email, text).is_err(), "{text:?}");
    }
}

#[test]
fn addresses_have_one_spelling() {
    let bytes = |text: &str| KeyForm::Ip.canonical(text.as_bytes()).map(|key| key.to_vec());
    let mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 192, 0, 2, 1].to_vec();
    for text in ["192.0.2.1", "::ffff:192.0.2.1", "::FFFF:C000:201", "0:0:0:0:0:ffff:192.0.2.1"] {
        assert_eq!(bytes(text), Ok(mapped.clone()), "{text}");
    }
    let documentation = bytes("2001:db8::1").unwrap();
    assert_eq!(documentation[..4], [0x20, 0x01, 0x0d, 0xb8]);
    assert_eq!(bytes("2001:0DB8:0:0:0:0:0:1"), Ok(documentation));
    // IPv4-compatible addresses are deprecated, and are not IPv4 addresses.
    assert_ne!(bytes("::192.0.2.1"), Ok(mapped));
    for text in
        ["192.0.2", "192.0.2.01", "192.0.2.256", "fe80::1%eth0", "[::1]", "::1/128", " ::1", "::g", "1"]
    {
        assert!(bytes(text).is_err(), "{text}");
    }
}

#[test]
fn text_is_normalized_and_nothing_else() {
    assert_eq!(canonical(KeyForm::Text, "Cafe\u{301}").as_deref(), Ok("Caf\u{e9}"));
    assert_eq!(canonical(KeyForm::Text, "\u{212b}").as_deref(), Ok("\u{c5}"));
    // Compatibility characters and cases are different keys, and white space counts.
    assert_eq!(canonical(KeyForm::Text, " \u{fb01}X ").as_deref(), Ok(" \u{fb01}X "));
    assert_eq!(KeyForm::Text.canonical(b"a\xff"), Err(KeyError::NotText));
    assert_eq!(KeyForm::Text.canonical(&[b'a'; 4097]), Err(KeyError::Long { max: 4096 }));
    assert_eq!(KeyForm::Bytes.canonical(b"a\xff").unwrap().to_vec(), b"a\xff");
}

#[test]
fn digests_are_digits() {
    // SHA-1 and SHA-256 of the empty string.
    let sha1 = "DA39A3EE5E6B4B0D3255bfef95601890afd80709";
    assert_eq!(KeyForm::Sha1.canonical(sha1.as_bytes()).unwrap()[..4], [0xda, 0x39, 0xa3, 0xee]);
    assert_eq!(
        KeyForm::Sha1.canonical(sha1.to_lowercase().as_bytes()),
        KeyForm::Sha1.canonical(sha1.as_bytes())
    );
    let sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(KeyForm::Sha256.canonical(sha256.as_bytes()).unwrap().len(), 32);
    // Every byte in the place of one digit.
    for byte in 0..=u8::MAX {
        let mut text = *b"da39a3ee5e6b4b0d3255bfef95601890afd80709";
        text[1] = byte;
        let value = char::from(byte).to_digit(16).map(|digit| 0xd0 | digit as u8);
        let first = KeyForm::Sha1.canonical(&text).ok().map(|key| key[0]);
        assert_eq!(first, value, "{byte:#x}");
    }
    for (form, text) in [(KeyForm::Sha1, sha256), (KeyForm::Sha256, sha1), (KeyForm::Sha1, &sha1[1..])] {
        assert!(form.canonical(text.as_bytes()).is_err());
    }
    assert!(KeyForm::Sha1.canonical(sha1.replace('D', "g").as_bytes()).is_err());
    assert!(KeyForm::Sha1.canonical(sha1.replacen("DA", "é", 1).as_bytes()).is_err());
}

#[test]
fn hashes_of_sixteen_bytes_are_digits_of_either_case() {
    let ntlm = "8846F7EAEE8FB117AD06BDD830B7586C";
    let key = KeyForm::Md5.canonical(ntlm.as_bytes()).unwrap();
    assert_eq!((key.len(), key[..3].to_vec()), (16, vec![0x88, 0x46, 0xf7]));
    assert_eq!(KeyForm::Md5.canonical(ntlm.to_lowercase().as_bytes()), Ok(key));
    assert!(KeyForm::Md5.canonical(&ntlm.as_bytes()[1..]).is_err());
    assert_eq!("ntlm".parse(), Ok(KeyForm::Md5));
}

#[test]
fn telephone_numbers_are_those_of_e164() {
    for text in ["+15550000007", "+6834000", "+123456789012345"] {
        assert_eq!(canonical(KeyForm::Phone, text).as_deref(), Ok(text));
    }
    let refused = [
        "+1 555 000 0007",
        "15550000007",
        "+05550000007",
        "+1555000a007",
        "+155500",
        "+1234567890123456",
        "0015550000007",
        "+",
        "+1555000\u{660}007",
    ];
    for text in refused {
        assert!(matches!(canonical(KeyForm::Phone, text), Err(KeyError::Not(_))), "{text}");
    }
    // Every byte in the place of one digit, and of the sign.
    for byte in 0..=u8::MAX {
        let with = |at: usize| {
            let mut text = *b"+15550000007";
            text[at] = byte;
            KeyForm::Phone.canonical(&text).is_ok()
        };
        assert_eq!(
            [with(0), with(1), with(5)],
            [byte == b'+', matches!(byte, b'1'..=b'9'), byte.is_ascii_digit()]
        );
    }
}

#[test]
fn names_are_those_of_catalogs() {
    for form in KeyForm::ALL {
        assert_eq!(serde_json::to_string(&form).unwrap(), format!("{:?}", form.name()));
        assert_eq!(form.name().parse(), Ok(form));
        assert_eq!(form.canonical(b""), Err(KeyError::Empty));
    }
}

proptest! {
    /// A canonical key is its own canonical form, and any bytes are handled without a panic.
    #[test]
    fn a_canonical_key_is_its_own(
        text in "\\PC{0,40}|[a-zA-Z@.0-9äß-]{1,20}|[a-z]{1,5}@[a-zÄ]{1,5}\\.[a-z]{2}",
        form in 0usize..4,
    ) {
        let form = KeyForm::ALL[form];
        if let Ok(key) = form.canonical(text.as_bytes()) {
            prop_assert!(!key.is_empty() && key.len() <= form.max_bytes() as usize);
            prop_assert_eq!(form.canonical(&key).unwrap(), key);
        }
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..60), form in 0..KeyForm::ALL.len()) {
        let _ = KeyForm::ALL[form].canonical(&bytes);
    }
}
