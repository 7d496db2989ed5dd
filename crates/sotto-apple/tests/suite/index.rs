use crate::recorded::*;
use prost::Message;
use sotto_apple::proto::*;
use sotto_bfv::mulpir::{Shape, Table};

#[test]
fn index_lookups() {
    for (case, queries) in [("b/b1_100x1to16", vec![0, 37, 99]), ("b/b2_1000x64", vec![0, 501, 999]), ("b/b3_1000x64_even_maxcomp", vec![777]), ("b/b4_10x3000_two_chunks", vec![3, 9])] {
        let parameters = PirParameters::decode(&*read(&format!("{case}/pir_parameters.pb"))).unwrap();
        let dims = [parameters.dimensions[0] as usize, parameters.dimensions[1] as usize];
        let shape = Shape::new(parameters.num_entries as usize, parameters.entry_size as usize, kit().plaintext_bytes(), dims, parameters.batch_size as usize).unwrap();
        let rows = lists(&format!("{case}/database.bin"));
        let table = Table::encode(kit(), &shape, |i, out| out[..rows[i].len()].copy_from_slice(&rows[i])).unwrap();
        let elements: Vec<usize> = parameters.evaluation_key_config.unwrap().galois_elements.iter().map(|x| *x as usize).collect();
        let keys = CODEC.take_keys(&SerializedEvaluationKey::decode(&*read(&format!("{case}/evaluation_key.pb"))).unwrap(), &elements).unwrap();
        for i in queries {
            let query = EncryptedIndices::decode(&*read(&format!("{case}/query_{i}.pb"))).unwrap();
            let start = std::time::Instant::now();
            let response = CODEC.answer(&keys, &query, &[&table]).unwrap();
            println!("{case} {i}: {:?} {dims:?} {elements:?}", start.elapsed());
            let opened = CODEC.open(&secret(&format!("{case}/secret_key.coeff.i8")), &shape, &[i], &response).unwrap();
            assert_eq!(*opened[0], read(&format!("{case}/value_{i}.bin")), "{case} {i}");
            assert!(response.encode_to_vec() == read(&format!("{case}/response_{i}.pb")), "{case} {i}");
        }
    }
}
