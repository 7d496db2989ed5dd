//! The suite on the test schemes: it shows that they keep the contract, and that the suite passes on
//! schemes of every kind: with hints, keys, and two servers.

mod clear {
    sotto_testkit::conformance!(sotto_testkit::CLEAR, in_the_clear);
}

mod clear_helped {
    sotto_testkit::conformance!(sotto_testkit::CLEAR_HELPED);
}

mod clear_keyed {
    sotto_testkit::conformance!(sotto_testkit::CLEAR_KEYED, in_the_clear);
}

mod clear_rows {
    sotto_testkit::conformance!(sotto_testkit::CLEAR_ROWS, in_the_clear);
}

mod clear_state {
    sotto_testkit::conformance!(sotto_testkit::CLEAR_STATE);
}

mod clear_stream {
    sotto_testkit::conformance!(sotto_testkit::CLEAR_STREAM, in_the_clear);
}

mod clear_two {
    sotto_testkit::conformance!(sotto_testkit::CLEAR_TWO);
}
