//! Prints every public code as JSON. The build compiles this file and the two below without cargo,
//! which takes less than a second, and writes `ts/core/codes.ts` and the index of `docs/errors.md`.

#[path = "../../crates/core/src/code.rs"]
mod code;
#[path = "../../crates/core/src/contract_code.rs"]
mod contract_code;

use code::Code;
use contract_code::ContractCode;

fn main() {
    let errors: Vec<String> = Code::ALL.iter().map(|code| error(*code)).collect();
    let contract: Vec<String> = ContractCode::ALL.iter().map(|code| contract(*code)).collect();
    println!("{{\"errors\":[{}],\"contract\":[{}]}}", errors.join(","), contract.join(","));
}

/// `{:?}` quotes as JSON does: the texts are ASCII without control characters.
fn error(code: Code) -> String {
    format!(
        "{{\"code\":{:?},\"area\":{:?},\"meaning\":{:?},\"refusal\":{},\"contract\":{:?}}}",
        code.to_string(),
        code.area(),
        code.meaning(),
        code.is_refusal(),
        code.contract_code().as_str(),
    )
}

fn contract(code: ContractCode) -> String {
    let class = code.class().as_str();
    format!("{{\"code\":{:?},\"meaning\":{:?},\"class\":{class:?}}}", code.as_str(), code.meaning())
}
