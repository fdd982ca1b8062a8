/**
 * The script that bash runs for one command of a session: it restores the state, runs the command, and saves the state.
 *
 * The state is shell code that bash itself has written, with its own quoting. Only a bash in the sandbox reads it. The
 * command is a text for `eval`, so its syntax cannot end the script early. A state is valid once an empty file stands beside
 * it: after a command that is killed, or that replaces its shell, the earlier state stays.
 *
 * The script uses only features of bash 3.2, which macOS has.
 */
const preparation = `
__toolwright_command=$2 __toolwright_state=$3 __toolwright_next=$4 __toolwright_names='|' __toolwright_saved=
__toolwright_values=()
shift 4
while IFS= read -r __toolwright_name; do
  __toolwright_names=$__toolwright_names$__toolwright_name'|'
  __toolwright_values[\${#__toolwright_values[@]}]=\${!__toolwright_name}
done <<< "$(compgen -e)"
__toolwright_save='
  if [[ -z $__toolwright_saved ]]; then
    __toolwright_saved=yes
    __toolwright_options=$SHELLOPTS
    set +o errexit +o nounset +o xtrace +o verbose +o noclobber +o posix
    trap - DEBUG ERR RETURN
    {
      shopt -p
      __toolwright_index=0
      __toolwright_rest=\${__toolwright_names#\\|}
      while [[ -n $__toolwright_rest ]]; do
        __toolwright_name=\${__toolwright_rest%%\\|*}
        __toolwright_rest=\${__toolwright_rest#*\\|}
        case $__toolwright_name in
          (PWD | OLDPWD | SHLVL | _ | BASHOPTS | SHELLOPTS | BASH_* | UID | EUID) ;;
          (*)
            if [[ -z \${!__toolwright_name+set} ]]; then printf "unset -v %s\\n" "$__toolwright_name"
            elif [[ \${!__toolwright_name} != "\${__toolwright_values[__toolwright_index]}" ]]; then declare -p "$__toolwright_name"
            fi
        esac
        __toolwright_index=$((__toolwright_index + 1))
      done
      while IFS= read -r __toolwright_name; do
        case $__toolwright_name in
          (__toolwright_* | BASH | BASHOPTS | BASHPID | BASH_* | COLUMNS | COMP_* | DIRSTACK | EPOCH* | EUID | FUNCNAME | GROUPS) ;;
          (HISTCMD | HOSTNAME | HOSTTYPE | LINENO | LINES | MACHTYPE | OLDPWD | OPTERR | OPTIND | OSTYPE | PIPESTATUS | PPID) ;;
          (PWD | RANDOM | SECONDS | SHELLOPTS | SHLVL | SRANDOM | UID | _) ;;
          (*) [[ $__toolwright_names == *"|$__toolwright_name|"* ]] || declare -p "$__toolwright_name"
        esac
      done <<< "$(compgen -v)"
      declare -f
      declare -Fx
      alias -p
      printf "umask %s\\n" "$(umask)"
      for __toolwright_name in allexport noclobber noglob nounset pipefail; do
        case :$__toolwright_options: in
          (*:$__toolwright_name:*) printf "set -o %s\\n" "$__toolwright_name" ;;
          (*) printf "set +o %s\\n" "$__toolwright_name" ;;
        esac
      done
      printf "__toolwright_directory=%q OLDPWD=%q\\n" "$PWD" "\${OLDPWD-$PWD}"
    } > "$__toolwright_next" && : > "$__toolwright_next.done"
  fi
'
if [[ -n $__toolwright_state ]]; then
  __toolwright_directory=$PWD
  source "$__toolwright_state" > /dev/null 2>&1
  __toolwright_before=\${OLDPWD-$PWD}
  builtin cd -- "$__toolwright_directory" 2> /dev/null ||
    printf '[The directory %s is gone. The command starts in %s.]\\n' "$__toolwright_directory" "$PWD" >&2
  OLDPWD=$__toolwright_before
  unset -v __toolwright_directory __toolwright_before
fi
trap 'eval "$__toolwright_save" 2> /dev/null' EXIT
`

/** One line, so that bash counts the lines of the command from 1 in its messages. */
const script =
  'eval "$1"; eval "$__toolwright_command"; __toolwright_code=$?; { eval "$__toolwright_save"; } 2> /dev/null; exit "$__toolwright_code"'

/** The arguments of bash that run a command with the state in one file, if any, and save the next state in another. */
export function sessionArguments(command: string, state: string, next: string): string[] {
  return ['--norc', '--noprofile', '-c', script, 'bash', preparation, command, state, next]
}
