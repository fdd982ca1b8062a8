/** What models that were trained on other tools call the arguments of a set's tools, and what these are called here. */
import { all, type Habits, type ToolWords } from '../core/argument-words/argument-words.js'
import { inBackground, processHabits } from '../core/argument-words/process-habits.js'

const file = all('file_path filePath filepath file filename file_name absolute_path target_file', 'path')
const directory = all('directory dir folder cwd root search_path target_directory', 'path')
const oneFile = all('paths files', 'One call takes one file: give `path`.')
const noFlags = 'The pattern takes no flags: to ignore case, begin it with (?i).'
const chosenFiles = 'Files cannot be chosen by an argument: give a directory or a file as `path`, or use bash with find and grep.'

const habits: Readonly<Record<string, Habits>> = {
  read: {
    ...file,
    ...oneFile,
    ...all('start start_line startLine line_start line from', 'offset'),
    ...all('lines num_lines max_lines count length', 'limit'),
    ...all('end end_line endLine view_range line_range', '`offset` is the first line, and `limit` the number of lines.'),
    ...all('pages encoding', 'read takes text files, as UTF-8: leave it out.'),
  },
  write: {
    ...file,
    ...oneFile,
    ...all('contents text file_text data body code new_content', 'content'),
    ...all('append mode', 'write replaces the whole file: to add to it, use edit.'),
    ...all('overwrite create create_dirs mkdirs', 'write always replaces the file and creates missing directories: leave it out.'),
  },
  edit: {
    ...file,
    ...all('diff changes unified_diff', 'patch'),
    ...all(
      'old_string new_string old_str new_str oldText newText search replace edits replace_all',
      'edit takes a unified diff as `patch`: a header such as `@@ -3 +3 @@`, and lines that begin with a space, `-` or `+`.',
    ),
    ...all('content file_text', 'To replace the whole file, use write.'),
  },
  grep: {
    ...directory,
    ...all('query regex search text search_term', 'pattern'),
    ...all('-A -B -C A B C context_lines before after', 'context'),
    ...all('include includes glob glob_pattern file_pattern include_pattern globs type file_type exclude', chosenFiles),
    ...all('-i i ignore_case ignorecase case_insensitive caseInsensitive case_sensitive', noFlags),
    ...all('-n n line_numbers line_number', 'Every match has its line number: leave it out.'),
    ...all('output_mode mode', 'Set `files` for the names alone, or `count` for numbers: leave it out for lines.'),
    ...all('-l files_with_matches', 'files'),
    ...all('-c', 'count'),
    ...all(
      'head_limit limit max_results max_count offset',
      'The number of results cannot be chosen: narrow the search with `path` or a more specific pattern.',
    ),
    ...all('fixed_strings literal', 'The pattern is a regular expression: put a backslash before each of . * + ? ( ) [ ] { } | ^ $ \\.'),
  },
  glob: {
    ...directory,
    ...all('glob globs include glob_pattern query file_pattern', 'pattern'),
    ...all('exclude ignore', 'Files cannot be excluded by an argument: use a narrower pattern.'),
    ...all('limit head_limit max_results max_depth depth', 'The number of results cannot be chosen: use a narrower pattern.'),
  },
  bash: {
    ...all(
      'command script code commandLine',
      'Give the program as `cmd` and its arguments as `args`; a line for the shell is cmd "sh" with args ["-c", "…"].',
    ),
    ...all('cwd workdir directory dir working_directory path', 'The directory is `opts.cwd`.'),
    ...all('timeout timeout_ms timeoutMs time_limit', 'The host sets the time limit: leave it out.'),
    ...all('env environment', 'Set variables with `env` as `cmd`: args ["NAME=value", "program"].'),
    ...all('input stdin', 'stdin is empty: give input with a pipe in cmd "sh", or with a file.'),
    ...all('arguments argv', 'args'),
    ...all('description justification explanation reason', 'Leave it out: nobody reads it here.'),
  },
  apply_patch: {
    ...all('input diff patch_text patchText command', 'patch'),
    ...all('path file file_path filePath filename files paths', 'The patch names its files: leave it out.'),
  },
  lsp: {
    ...file,
    ...all('name identifier query', 'symbol'),
    ...all('new_name newName', 'lsp changes nothing: references finds the places, and edit changes them.'),
    ...all('column character position', 'The place is `line` and the text of the `symbol`: leave it out.'),
    ...all('operation command method kind', 'action'),
  },
  ...processHabits,
}

/** @param startsProcesses whether the set has `process_start` */
export function toolkitWords(startsProcesses: boolean): ToolWords {
  const background = inBackground(startsProcesses, 'leave it out')
  const bash = { ...habits['bash'], ...all('run_in_background background is_background detach', background) }
  return { habits: { ...habits, bash } }
}
