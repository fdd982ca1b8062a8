/** What models that were trained on other tools call the arguments of the contract's tools, and what these are called here. */
import { all, type Habits, type ToolWords } from '../../../core/argument-words/argument-words.js'
import { inBackground, processHabits } from '../../../core/argument-words/process-habits.js'

const file = all('file_path filePath filepath file filename file_name absolute_path target_file relative_workspace_path', 'path')
const directory = all('directory dir folder cwd root paths search_path target_directory', 'path')
const lines = 'read has no line numbers: `offset` and `limit` are bytes. Leave them out to read the whole file.'
const narrower = 'The number of results cannot be chosen: narrow the search with `path` or a more specific pattern.'
const context = 'grep has no context lines: read the file of the match.'
const habits: Readonly<Record<string, Habits>> = {
  read: {
    ...file,
    ...all(
      'start end line lines line_start line_end start_line end_line startLine endLine view_range line_range num_lines max_lines',
      lines,
    ),
    ...all('paths files', 'One call reads one file: give `path`.'),
    ...all('pages encoding', 'read takes text files, as UTF-8: leave it out.'),
    ...all('max_bytes length bytes size', 'limit'),
    ...all('position start_byte byte_offset', 'offset'),
  },
  write: {
    ...file,
    ...all('contents text file_text data body code new_content', 'content'),
    ...all('append mode', 'write replaces the whole file: to add to it, use edit.'),
    ...all('overwrite create create_dirs mkdirs', 'write always replaces the file and creates missing directories: leave it out.'),
  },
  edit: {
    ...file,
    ...all('old_str oldText old_text oldStr search find target original from', 'old_string'),
    ...all('new_str newText new_text newStr replace replacement updated to', 'new_string'),
    ...all('all global replaceall', 'replace_all'),
    ...all('expected_replacements count', 'Without `replace_all`, exactly one place is replaced: leave it out, or set `replace_all`.'),
    ...all('edits changes', 'One call makes one replacement, with `old_string` and `new_string`.'),
    ...all('patch diff', 'edit takes no patch: give the text to replace as `old_string`, and what takes its place as `new_string`.'),
    ...all('content file_text', 'To replace the whole file, use write.'),
    ...all('command', 'Leave it out: edit always replaces `old_string` by `new_string`.'),
  },
  glob: {
    ...directory,
    ...all('glob globs include glob_pattern query file_pattern', 'pattern'),
    ...all('exclude ignore', 'Files cannot be excluded by an argument: use a narrower pattern.'),
    ...all('limit head_limit max_results max_depth depth', narrower),
  },
  grep: {
    ...directory,
    ...all('query regex search text search_term', 'pattern'),
    ...all('include includes glob_pattern file_pattern include_pattern globs files', 'glob'),
    ...all('type file_type', 'Choose files with `glob`, for example `*.ts`.'),
    ...all('exclude exclude_pattern', 'Files cannot be excluded by an argument: choose them with `glob`.'),
    ...all('-i i ignore_case ignorecase', 'case_insensitive'),
    ...all('case_sensitive', 'grep respects case unless `case_insensitive` is true: leave it out.'),
    ...all('-n n line_numbers line_number', 'Every match has its line number: leave it out.'),
    ...all('output_mode mode', 'Matches always come with path, line number and text: leave it out.'),
    ...all('-A -B -C A B C context context_lines before after', context),
    ...all('head_limit limit max_results max_count offset', narrower),
    ...all('multiline', 'A pattern is matched line by line: search for one of the lines.'),
    ...all(
      'fixed_strings literal',
      'The pattern is a regular expression: put a backslash before each of . * + ? ( ) [ ] { } | ^ $ \\ to search for it literally.',
    ),
  },
  repo_overview: {
    ...directory,
    ...all('max_depth levels tree_depth', 'depth'),
    ...all('pattern glob include exclude ignore', 'Files cannot be chosen here: give a narrower `path`, or list files with glob.'),
  },
  bash: {
    ...all('cmd script code commandLine input_command shell_command', 'command'),
    ...all('cwd directory dir working_directory workdirectory path', 'workdir'),
    ...all('timeout timeoutMs time_limit', 'timeout_ms'),
    ...all('timeout_seconds timeout_s', 'The time limit is `timeout_ms`, in milliseconds.'),
    ...all('args arguments', 'Write the arguments into `command`.'),
    ...all('env environment', 'Set variables in `command`, in front of the program: `NAME=value program`.'),
    ...all('input stdin', 'stdin is closed: give input with a pipe, or with a file.'),
    ...all('restart session_id session', 'Each call is a shell of its own: leave it out.'),
    ...all(
      'dangerouslyDisableSandbox sandbox with_escalated_permissions sandbox_permissions',
      'Commands always run in the sandbox: leave it out.',
    ),
    ...all('justification explanation reason', 'description'),
  },
  todo: {
    ...all('items tasks list todo_list plan', 'todos'),
    ...all('text title task step description name', 'content'),
    ...all('state', 'status'),
    ...all('id priority', 'Leave it out: a todo has its text and its status.'),
    ...all('done completed', 'Say it with `status`: pending, in_progress or completed.'),
    ...all('merge', 'Each call replaces the whole list: give all todos.'),
  },
  question: {
    ...all('question prompt text', 'Give `questions`, an array of objects that each have a `question`.'),
    ...all('title', 'header'),
    ...all('choices answers', 'options'),
    ...all('multiple allow_multiple', 'multi_select'),
    ...all('value', 'label'),
  },
  web_fetch: {
    ...all('uri link href page', 'url'),
    ...all('urls', 'One call fetches one `url`.'),
    ...all('prompt query question', 'web_fetch gives the text of the page: leave it out, and look for the answer in it.'),
    ...all('format extract_mode text_mode', 'HTML always comes as Markdown: leave it out.'),
    ...all('method headers body data', 'web_fetch only reads, with GET: leave it out.'),
    ...all('max_length max_chars timeout', 'The limits are those of the host: leave it out.'),
  },
  web_search: {
    ...all('q search search_query search_term term', 'query'),
    ...all('queries', 'One call makes one search: give `query`.'),
    ...all('limit count num num_results n', 'max_results'),
    ...all('allowed_domains domains site', 'Name the site in `query`, for example `site:example.com`.'),
    ...all('blocked_domains', 'Sites cannot be left out by an argument: make `query` more specific.'),
  },
  skill: {
    ...all('skill skill_name id command', 'name'),
    ...all('args arguments', 'A skill takes no arguments: load it by `name`, then follow it.'),
  },
  task: {
    ...all('agent agent_type agent_name subagent type name', 'subagent_type'),
    ...all('task instructions message input', 'prompt'),
    ...all('run_in_background async', 'background'),
    ...all('description title', 'Leave it out: the agent reads `prompt` alone.'),
    ...all('model tools isolation', 'The agent is set up by the host: leave it out.'),
  },
  lsp: {
    ...all('file file_path filePath uri', 'path'),
    ...all('name identifier query', 'symbol'),
    ...all('new_name newName', 'lsp changes nothing: references finds the places, and edit changes them.'),
    ...all('column character position', 'The place is `line` and the text of the `symbol`: leave it out.'),
    ...all('operation command method kind', 'action'),
  },
  ...processHabits,
  tool_search: {
    ...all('q search keywords text', 'query'),
    ...all('queries', 'One call makes one search: give `query`.'),
    ...all('limit max_results count', 'The number of results cannot be chosen: leave it out.'),
  },
}

const empty: Readonly<Record<string, Habits>> = {
  edit: {
    old_string:
      ': to create a file use write; to add to a file give the text beside the place as `old_string`, and the same text with the addition as `new_string`',
  },
}

const unlikely: Readonly<Record<string, Habits>> = {
  bash: { command: 'is empty, or holds a NUL character' },
  web_search: { query: 'is empty' },
}

/** @param startsProcesses whether the session has `process_start` */
export function contractWords(startsProcesses: boolean): ToolWords {
  const background = inBackground(startsProcesses, 'run what you need in one command, with `timeout_ms`')
  const bash = { ...habits['bash'], ...all('run_in_background background is_background detach async', background) }
  return { habits: { ...habits, bash }, empty, unlikely }
}
