// Not bundled: a server finds the tools where they are.
const address = process.env.TOOLS
export const { journal, model, tools } = await import(address)
