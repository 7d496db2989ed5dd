//! Every error has the name, fault, kind, exit code, fix and text that programs and people know:
//! `every.txt`.

use super::*;
use sotto_apple::image::ImageError;
use sotto_apple::keyword::cuckoo::TableError;
use sotto_binding::vector::VectorError;
use sotto_catalog::{Anchor, Hex32, PublicKey, TableName};
use sotto_client::error::transport::Intermediary;
use sotto_client::session::WitnessError;
use sotto_core::{Budget, Epoch, ParamsError, PeerMisbehaved};
use sotto_db::error::ingest::{IngestError, IngestProblem, LineUnit};
use sotto_db::image::FileKind;
use sotto_db::{ImageProblem, PartProblem};
use sotto_layers::keyword::{BuildError, KeyError};
use sotto_oprf::OprfError;
use sotto_server::SourceError;
use sotto_wire::{FrameError, Problem, ProblemCode};
use std::net::SocketAddr;
use std::path::PathBuf;

/// A value for a field of an error.
trait Sample {
    fn sample() -> Self;
}

macro_rules! samples {
    ($($type:ty = $value:expr;)+) => { $(impl Sample for $type { fn sample() -> Self { $value } })+ };
}

samples! {
    &'static str = "text";
    String = "text".to_owned();
    PathBuf = "path".into();
    io::Error = io::ErrorKind::NotFound.into();
    SocketAddr = ([127, 0, 0, 1], 80).into();
    bool = true;
    char = ';';
    u8 = 1;
    u16 = 302;
    u32 = 8;
    u64 = 7200;
    usize = 2;
    TableName = "table".parse().unwrap();
    Epoch = Epoch(3);
    Anchor = "block-7".parse().unwrap();
    Option<Anchor> = Some(sample());
    Hex32 = [7; 32].into();
    PublicKey = PublicKey::of_ed25519(Hex32::sample());
    Box<PublicKey> = Box::new(sample());
    FileKind = FileKind::Front(2);
    FrameError = FrameError::Short;
    OprfError = OprfError::Closed;
    ParamsError = ParamsError::Insecure { bits: 90.0, required: 128 };
    KeyError = KeyError::Empty;
    BuildError = BuildError::NoKeys;
    Error = Error::Unreadable;
    EntropyError = EntropyError;
    CatalogError = CatalogError::BadSignature;
    DbError = DbError::Locked(sample());
    Option<u64> = Some(7200);
    Option<Epoch> = Some(Epoch(3));
    Option<String> = Some(sample());
    Box<ClientError> = ClientError::NoEntropy.into();
    Box<DbError> = Box::new(sample());
}

/// One value of each of these variants, with a sample in every field.
macro_rules! values {
    ($enum:ident: $($variant:ident $(($($value:expr),+))? $({$($field:ident),+})?)+) => {
        vec![$($enum::$variant $(($($value),+))? $({ $($field: Sample::sample()),+ })?),+]
    };
}

fn sample<T: Sample>() -> T {
    T::sample()
}

fn core() -> Vec<Error> {
    vec![
        ParamsError::sample().into(),
        Misuse::IndexPastEnd { index: 9, len: 9 }.into(),
        Misuse::Rule("a rule").into(),
        PeerMisbehaved::NotCanonical("query").into(),
        Error::Exhausted(Budget::Left(0)),
        Error::Unreadable,
        Error::BatchCodeFailure,
        io::Error::sample().into(),
    ]
}

fn catalog() -> Vec<CatalogError> {
    let mut all = values! {
        CatalogError: TooLarge { what, bytes, limit } Malformed { what, why } Version { found, reads }
        UnknownLayer(sample()) Invalid { field, why } Disagree(sample()) WrongScheme { expected, offered }
        BadSignature BadMlDsaSignature NoMlDsaSignature { expected } WrongKey { pinned, found }
        ChangeOver { pinned, found } KeyText { what, why } NoSuchRow(sample())
    };
    all.extend(core().into_iter().map(CatalogError::Params));
    all
}

fn transport() -> Vec<TransportError> {
    let mut all = values! {
        TransportError: Address { url, why } Connect { origin, why } Lost(sample()) Timeout(sample())
        TooLarge { limit } Tls(sample()) UnknownHost(sample()) NotTls(sample()) Protocol(sample())
    };
    let intermediaries = values!(Intermediary: Redirects { status, location } Encodes(sample()) ShowsPage);
    let logins = [401, 407, 511].map(|status| Intermediary::WantsLogin { status });
    let found = logins.into_iter().chain(intermediaries);
    all.extend(found.map(|found| TransportError::Intermediary { origin: sample(), found }));
    all
}

fn witness() -> Vec<WitnessError> {
    let mut all = values! {
        WitnessError: NotLogged(sample()) Proof { what, why } NotWitnessed { what, needed, fresh, stale, is_old }
        Fork { publisher, size, found, kept } Conflict { what, why } Unfollowed(sample()) Kept(sample())
        NotListed(sample()) Count { needed, given } NoneNeeded { given } NoClock NotBuilt
    };
    let (what, stale) = (sample(), None);
    all.push(WitnessError::NotWitnessed { what, needed: 2, fresh: 1, stale, is_old: false });
    all
}

fn client() -> Vec<ClientError> {
    let wrong_server = ClientError::Refused(Problem::new(ProblemCode::WrongServer, "text"));
    let mut all = values! {
        ClientError: CatalogDamaged(sample()) Frame(sample()) EpochChanged { asked, newest }
        NoDeltaChain { from, to, why } ClientDiscarded(sample()) Rollback { seen, offered }
        RetiredKey { key, by, until_epoch, epoch } OtherSigner { known, found } Equivocation { epoch, kept }
        OtherSnapshot { table, epoch, found, expected }
        OtherAnchor { table, epoch, found, expected } Expired { epoch, ago } WrongTable { asked, found }
        UnknownScheme(sample()) ServerCount { id, servers, given } SameEndpoint { first, second, why }
        InsecurePlaintext(sample()) NoRowProofs(sample()) NotAuthenticated { table, scheme }
        RowProofInvalid { table, epoch }
        CatalogsDiffer { server, epoch } NoCommonEpoch { server, epoch } MissingArtifact { artifact, bytes }
        TooManyRows { rows, limit } CannotStream(sample()) StackInconsistent(sample()) Output(sample())
        StateNeeded(sample()) NoEntropy
    };
    let errors = [wrong_server, Error::Unreadable.into()].map(Box::new);
    all.extend(errors.map(|error| ClientError::Server { server: 1, error }));
    all.extend("No name".parse::<TableName>().err().map(ClientError::TableName));
    all.extend(core().into_iter().map(ClientError::Core));
    all.extend(catalog().into_iter().map(ClientError::Catalog));
    all.extend(values!(OprfError: Element Proof Closed Future).into_iter().map(ClientError::Oprf));
    all.extend(transport().into_iter().map(ClientError::Transport));
    all.extend(ProblemCode::ALL.iter().map(|code| ClientError::Refused(Problem::new(*code, "text"))));
    all.extend(witness().into_iter().map(ClientError::Witness));
    let cache = values! {
        CacheError: Full { path, source } NotPrivate { path, why } Io { path, source } Memory { path, why }
    };
    all.extend(cache.into_iter().map(ClientError::Cache));
    let state = values! {
        StateError: Busy(sample()) Full { path, source } NotPrivate { path, why } Io { path, source }
        WrongState { path, what, found, expected } Unusable { path, why } Broken NotBuilt NoRollbackCounter
    };
    all.extend(state.into_iter().map(ClientError::State));
    all
}

fn log() -> Vec<LogError> {
    let full = io::ErrorKind::StorageFull.into();
    let mut all = vec![LogError::Storage { path: sample(), source: full }];
    all.extend(values! {
        LogError: TooLarge { what, limit } TooManyTiles { size, limit } Malformed { what, why } KeyText(sample())
        WrongOrigin { pinned, found } NotSigned { name, id } BadSignature(sample()) Missing(sample())
        TileLength { path, got, want } Compressed { path, codec, magic } TileHash { path, parent }
        Edge { tiles, size } Entry { path, index, why } EntryHash { path, index } Older { known, found }
        Fork { size } Conflict { index, subject, why } Superseded { subject, last } NotCosigned { size, newest }
        Policy { line, why } NotListed(sample()) Tree(sample()) Storage { path, source }
    });
    all
}

fn ingest() -> Vec<DbError> {
    let mut all = values! {
        IngestProblem: Read(sample()) Format { format, why } Columns { expected, found } Codec(sample()) Null
        Header(sample()) NoPart { part, there } NoColumn(sample()) NameTwice { first, second } FieldTwice(sample())
        OneColumn { delimiter } Blank Sparse { last, lines } Missing Kind { expected, found }
        TooLong { bytes, width } TooShort { bytes, width } Utf8 { at } ZeroByte ZeroByteInKey
        LongKey { bytes, limit } Ipv6Range HostBits(sample()) Backwards OutsideKeys { first, last }
        Overlap { other } Duplicate { row } RowTooLarge { row, last } Key(sample()) SameKey { other }
        Keys(sample()) Misfit { bytes, limit } Full Empty PartialRow { bytes, width } Options(sample())
    };
    all.push(IngestProblem::Read(io::ErrorKind::InvalidData.into()));
    let path = || PathBuf::sample().into();
    let error = |problem| IngestError { path: path(), line: 1, unit: LineUnit::Line, column: None, problem };
    all.into_iter().map(|problem| error(problem).into()).collect()
}

fn db() -> Vec<DbError> {
    let full = io::ErrorKind::PermissionDenied.into();
    let mut all = vec![DbError::Io { what: "writing", path: sample(), source: full }];
    all.extend(values! {
        DbError: Io { what, path, source } DiskFull(sample()) Locked(sample()) Empty(sample()) NotATable { path, found }
        NoEpoch { dir, epoch } OtherTable { dir, found, expected } OtherKey { dir, found, given }
        CannotRotate { dir, why } KeyExposed(sample()) NoOprfKey(sample()) OprfKey { path, why } WasMasked(sample())
        CannotCut(sample()) TooManyParts { parts, limit } OtherRows(sample()) NoFront { dir, found, parts }
        CannotUpdate(sample()) Rows { path, why } NoBatch(sample()) NoStack(sample()) OtherStack { dir, why }
        NoRoomInRequest { visits, max } TooManyTables { tables, limit } Source(sample()) NoChanges(sample())
        PartOfBlocks { path, blocks, why } PastCapacity { row, capacity } Threads(sample())
    });
    let image = values! {
        ImageProblem: NotAnImage Version { found } Length { have, want } Foreign NotForeign Piece(sample())
        Digest(sample()) Rows(sample()) Changed Malformed(sample()) Catalog(sample())
    };
    all.extend(image.into_iter().map(|problem| DbError::Image { path: sample(), problem }));
    let part =
        values!(PartProblem: Missing { part } Misplaced { part, found } OtherEpoch { part, found, expected });
    all.extend(part.into_iter().map(|why| DbError::Part { path: sample(), why }));
    all.extend(core().into_iter().map(DbError::Scheme));
    all.extend(catalog().into_iter().map(DbError::Catalog));
    all.extend(ingest());
    all.extend(log().into_iter().map(|error| DbError::Log { folder: sample(), source: Box::new(error) }));
    all
}

fn start() -> Vec<StartError> {
    let mut all = values! {
        StartError: Config { file, why } Settings(sample()) InUse { address, key } Listen { address, key, source }
        NoEpoch(sample()) SameName { name, first, second } Tls { file, why } Page { file, why }
        State { path, why, fix } Entropy Threads(sample())
    };
    all.push(StartError::InUse { address: sample(), key: "listen" });
    let mut source = values! {
        SourceError: Unreadable(sample()) Damaged(sample()) UnknownScheme(sample()) Role { scheme, servers, role }
        OprfKey(sample()) Inconsistent(sample()) Catalog(sample())
    };
    source.extend(core().into_iter().map(SourceError::Scheme));
    source.push(DbError::sample().into());
    all.extend(source.into_iter().map(|error| StartError::Table { source_name: sample(), error }));
    all
}

fn bench() -> Vec<BenchError> {
    let mut all = values! {
        BenchError: UnknownScheme { case, scheme, known } Params { case, why } WrongAnswer { case, row, why }
        WrongPatch(sample()) OtherRows { case, got, want } Threads { threads, why } Published(sample()) Drawing(sample())
        Storage(sample()) Entropy(sample()) Image { case, why }
    };
    let full = io::ErrorKind::StorageFull.into();
    let mut definition = vec![DefinitionError::Unreadable { path: sample(), why: full, known: sample() }];
    definition.extend(values!(DefinitionError: Unreadable { path, why, known } Syntax { path, why } Case { path, line, why }));
    all.extend(definition.into_iter().map(BenchError::Definition));
    all.extend(core().into_iter().map(|why| BenchError::Scheme { case: sample(), step: "encoding", why }));
    all
}

fn apple() -> Vec<ImageError> {
    let mut all = values! {
        ImageError: Twice { first, second } TooLong { row, bytes, bucket } LongLine { path, line, bytes, bucket }
        TooMany { limit } Params(sample()) Asked(sample()) Description { path, why }
    };
    all.push(ParamsError::Field { field: "name", why: sample() }.into());
    let table = values!(TableError: Empty DuplicateKey(1, 2) TooLong(1) NoPlace { rows, buckets, bytes });
    all.extend(table.into_iter().map(ImageError::Table));
    all.push(DbError::sample().into());
    all
}

fn vector() -> Vec<VectorError> {
    values! {
        VectorError: NotAVector(sample()) Version(sample()) Damaged { what, why } UnknownScheme(sample())
        OtherRequest { step, what } RequestMissing { step } OtherRow(sample())
        Client { step, error }
    }
}

/// The lines of errors: name, fault, kind, exit code, fix, text; and the command's fix, if it has
/// another.
fn lines<E: Diagnose + Into<Failure>>(errors: Vec<E>) -> Vec<String> {
    let line = |error: E| {
        let Diagnosis { kind, fault, exit, code, fix } = error.diagnosis();
        let head = format!("{code} | {fault:?} | {kind:?} | {exit:?}").to_lowercase();
        let fix = fix.to_owned();
        let failure = error.into();
        assert_eq!(failure.exit, exit);
        let own = failure.fix.filter(|own| *own != fix).map(|own| format!(" | {own}"));
        format!("{head} | {fix} | {}{}", failure.message, own.unwrap_or_default())
    };
    errors.into_iter().map(line).collect()
}

#[test]
fn every_error_means_what_the_table_says() {
    let plan = values!(PlanError: Workload { what, why } Damaged(sample()) NoScheme(sample()));
    let of_tables = [lines(client()), lines(db()), lines(start()), lines(log()), lines(core()), lines(plan)];
    let all = [of_tables.concat(), lines(bench()), lines(vector()), lines(apple())].concat();
    let table = include_str!("every.txt");
    for (line, expected) in all.iter().zip(table.lines()) {
        assert_eq!(line, expected);
    }
    assert_eq!(all.len(), table.lines().count());
}
