/** One thing to do. */
export interface Todo {
  content: string
  status: 'pending' | 'in_progress' | 'completed'
  /** What is being done while it is in progress: `Running the tests`. */
  active_form?: string | undefined
}
