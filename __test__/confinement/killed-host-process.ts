// A host program with one command that reads from a host by name for ever. It is killed.
import { createTools } from 'toolwright'

const [rootDir = '', address = '', mode = '', mark = ''] = process.argv.slice(2)
const network = {
  allow: mode === 'asked' ? [] : ['slow.test'],
  ask: ['slow.test'],
  addresses: { 'slow.test': address },
  tlsNames: mode === 'relayed',
  onAsk: () => {
    process.stdout.write('asked\n')
    return new Promise<never>(() => undefined)
  },
}
const { bash } = createTools({ rootDir, sandbox: { network } })
await bash.execute({ cmd: 'bash', args: ['-c', `sleep ${mark} & curl -sSN http://slow.test:8080/`] })
