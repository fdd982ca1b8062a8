/**
 * Variables of a process with a terminal: a model reads its output, so programs are asked not to colour it, and to show all of it.
 * What the host sets itself comes first.
 */
export const terminalVariables = (): Record<string, string> => ({ TERM: 'dumb', NO_COLOR: '1', PAGER: 'cat', GIT_PAGER: 'cat' })
