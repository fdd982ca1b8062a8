/** A failure whose message is all the reader needs: it is printed without a stack. */
export class SetupError extends Error {}
