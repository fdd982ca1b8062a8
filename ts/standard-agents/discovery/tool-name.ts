const SNAKE_CASE = /^[a-z]$|^[a-z][a-z0-9_]*[a-z0-9]$/u

/** Whether a tool may be called so. */
export const isToolName = (name: string): boolean => SNAKE_CASE.test(name)

/** What is said of a name that is another. */
export const notSnakeCase = "Tool name should be in snake_case format (e.g., 'log_name', 'send_email')"
