/** A command line whose processes try to stay: in sessions of their own, behind traps, as orphans of orphans. */
export function randomTree(seed: number, mark: string): string {
  let state = seed * 2_654_435_761 + 1
  const next = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 16) % below
  }
  const sleep = `sleep ${mark}`
  const forms = [
    () => `(${sleep} &)`,
    () => `(setsid ${sleep} &)`,
    () => `nohup ${sleep} >/dev/null 2>&1 &`,
    () => `(trap '' TERM INT HUP QUIT; ${sleep}) &`,
    () => `(setsid sh -c '(setsid ${sleep} &) ; (trap "" TERM HUP; ${sleep}) &' &)`,
    () => `(while :; do ${sleep}; done) &`,
  ]
  const parts = Array.from({ length: 1 + next(4) }, () => forms[next(forms.length)]?.() ?? '')
  const end = [sleep, `exec ${sleep}`, `trap '' TERM INT HUP; ${sleep}`][next(3)]
  return `${parts.map((part) => (part.endsWith('&') ? part : `${part};`)).join(' ')} ${end}`
}
