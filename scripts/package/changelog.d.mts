export interface Section {
  title: string
  date: string | undefined
  index: number
  body: string
}
export declare function sections(text: string): Section[]
export declare function released(text: string, version: string, date: string): string
export declare function problemsOf(text: string): Iterable<string>
export declare function unreleasedProblems(text: string, version: string): Iterable<string>
