// What the test gives a program: where the model answers, the root, when to abort, and what a person would answer.
export const { BASE_URL: baseURL = '', ROOT: rootDir = '.', ABORT = '', ANSWER: answer = '' } = process.env
const controller = new AbortController()
export const signal = controller.signal
if (ABORT !== '') process.once('SIGUSR2', () => controller.abort())
