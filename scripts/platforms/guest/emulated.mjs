// Loaded first where only the processor is emulated: what starts Node again has to start it in emulation too.
process.execPath = process.env.TOOLWRIGHT_EMULATED_NODE
