/** Projects whose histories are replayed: the forms of files that real edits have. */

/** @typedef {{ name: string, url: string, why: string }} Project */

/** @type {readonly Project[]} */
export const projects = [
  { name: 'express', url: 'https://github.com/expressjs/express.git', why: 'JavaScript, two spaces, LF' },
  { name: 'ripgrep', url: 'https://github.com/BurntSushi/ripgrep.git', why: 'Rust, four spaces, LF' },
  { name: 'flask', url: 'https://github.com/pallets/flask.git', why: 'Python: indentation is structure' },
  { name: 'Newtonsoft.Json', url: 'https://github.com/JamesNK/Newtonsoft.Json.git', why: 'C#, CRLF, byte order marks' },
  { name: 'Dapper', url: 'https://github.com/DapperLib/Dapper.git', why: 'C#, CRLF, byte order marks' },
  { name: 'hunspell', url: 'https://github.com/hunspell/hunspell.git', why: 'C++, tabs; word lists in Latin-1, Latin-2 and others' },
]
