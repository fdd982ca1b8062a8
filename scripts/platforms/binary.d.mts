export interface System {
  os: 'linux' | 'darwin'
  libc?: 'gnu' | 'musl'
  target: string
}
export declare function problemsOf(library: Buffer, system: System): string[]
