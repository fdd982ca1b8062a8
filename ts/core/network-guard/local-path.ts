/** Whether a remote, a package or an address is a path of this machine. */
export function isLocalPath(text: string): boolean {
  return /^(?:\.{0,2}\/|\.{1,2}$|~|file:)/u.test(text)
}
