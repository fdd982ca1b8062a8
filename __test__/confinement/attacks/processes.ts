import { readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import type { Scene } from '../stage/scene.ts'
import type { State, Victim } from '../stage/victim.ts'
import type { Attack } from './attack.ts'

const TERM = '15'

const onVictim = (
  name: string,
  args: (victim: Victim, scene: Scene) => readonly string[] | string,
  happened: (victim: Victim, output: string, scene: Scene) => boolean | Promise<boolean>,
  more: Partial<Attack> & { victim?: 'plain' | 'ipc' | 'apart' } = {},
): Attack => ({
  name,
  ...more,
  async stage(scene) {
    const victim = await scene.victim(more.victim)
    return { run: args(victim, scene), happened: (output) => happened(victim, output, scene) }
  },
})

const ends = (name: string, args: (victim: Victim) => readonly string[] | string, more: Partial<Attack> = {}): Attack =>
  onVictim(name, args, (victim) => !victim.isRunning(), more)

const reads = (name: string, args: (victim: Victim) => readonly string[], more: Partial<Attack> = {}): Attack =>
  onVictim(name, args, (victim, output) => output.includes(victim.secret), more)

const finds = (
  name: string,
  args: (victim: Victim, scene: Scene) => readonly string[],
  is: (state: State, victim: Victim) => boolean,
  more: Partial<Attack> = {},
): Attack => onVictim(name, args, async (victim) => is(await victim.state(), victim), more)

const place = ({ pid, address, length }: Victim): string[] => [String(pid), String(address), String(length)]

const writes = (name: string, attack: string): Attack =>
  onVictim(
    name,
    (victim, scene) => [attack, String(victim.pid), String(victim.address), scene.token.slice(0, victim.length - (victim.length % 8))],
    async (victim, _, scene) => (await victim.state()).memory.startsWith(scene.token.slice(0, 16)),
  )

const status = (victim: Victim, field: number): number => {
  const text = readFileSync(`/proc/${victim.pid}/stat`, 'utf8')
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[field])
}

export const processes: readonly Attack[] = [
  ends('kill', ({ pid }) => ['kill', String(pid), TERM]),
  ends('tkill', ({ pid }) => ['tkill', String(pid), TERM]),
  ends('tgkill', ({ pid }) => ['tgkill', String(pid), TERM]),
  ends('rt_sigqueueinfo', ({ pid }) => ['sigqueue', String(pid), TERM]),
  ends('rt_tgsigqueueinfo', ({ pid }) => ['tgsigqueue', String(pid), TERM]),
  ends('pidfd_send_signal', ({ pid }) => ['pidfd-signal', String(pid), TERM]),
  ends('a signal by the owner of a pipe', ({ pid }) => ['owner-signal', String(pid), TERM]),
  ends('killing whoever has a word in its environment', ({ secret }) => ['kill-all', secret, TERM]),
  onVictim(
    'stopping',
    ({ pid }) => ['kill', String(pid), '19'],
    (victim) => /\) T /u.test(readFileSync(`/proc/${victim.pid}/stat`, 'utf8')),
  ),
  reads('ptrace, attached', (victim) => ['ptrace-attach', ...place(victim)], { needs: 'ptrace' }),
  reads('ptrace, seized', (victim) => ['ptrace-seize', ...place(victim)], { needs: 'ptrace' }),
  reads('process_vm_readv', (victim) => ['memory-read', ...place(victim)], { needs: 'ptrace' }),
  reads('/proc/PID/mem', (victim) => ['proc-memory-read', ...place(victim)]),
  writes('ptrace, written', 'ptrace-poke'),
  writes('process_vm_writev', 'memory-write'),
  writes('/proc/PID/mem, written', 'proc-memory-write'),
  reads('pidfd_getfd', ({ pid, held }) => ['take-descriptor', String(pid), String(held)], { needs: 'pidfd_getfd' }),
  reads('/proc/PID/fd', ({ pid, held }) => ['read', `/proc/${pid}/fd/${held}`]),
  reads('/proc/PID/environ', ({ pid }) => ['read', `/proc/${pid}/environ`]),
  onVictim(
    '/proc/PID/maps',
    ({ pid }) => ['read', `/proc/${pid}/maps`],
    (_, output) => output.includes('[stack]'),
  ),
  onVictim(
    'the list of processes',
    () => 'ls /proc',
    ({ pid }, output) => output.split(/\s+/u).includes(String(pid)),
  ),
  onVictim(
    'kcmp',
    ({ pid }) => ['compare', String(pid)],
    (_, output) => output.includes('reached'),
    { needs: 'kcmp' },
  ),
  onVictim(
    'process_madvise',
    ({ pid, address }) => ['advise', String(pid), String(address)],
    (_, output) => output.includes('reached'),
    { needs: 'process_madvise' },
  ),
  onVictim(
    'perf_event_open',
    ({ pid }) => ['count', String(pid)],
    (_, output) => output.includes('reached'),
    { needs: 'performance events' },
  ),
  finds(
    'prlimit',
    ({ pid }) => ['prlimit', String(pid)],
    ({ files }) => files === 77,
  ),
  onVictim(
    'setpriority',
    ({ pid }) => ['setpriority', String(pid)],
    ({ pid }) => getPriority(pid) === 17,
    { needs: 'a priority to give up' },
  ),
  finds(
    'sched_setaffinity',
    ({ pid }) => ['affinity', String(pid)],
    ({ processors }) => processors === 1,
    { needs: 'two processors' },
  ),
  finds(
    'ioprio_set',
    ({ pid }) => ['io-priority', String(pid)],
    ({ ioClass }) => ioClass === 3,
  ),
  onVictim(
    'sched_setscheduler',
    ({ pid }) => ['scheduler', String(pid)],
    (victim) => status(victim, 38) === 3,
    { needs: 'a scheduler to leave' },
  ),
  onVictim(
    'oom_score_adj',
    ({ pid }) => ['create', `/proc/${pid}/oom_score_adj`, '777'],
    ({ pid }) => readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8').trim() === '777',
  ),
  finds(
    'writing to a terminal',
    ({ terminal }, scene) => ['terminal-write', terminal, scene.token.slice(0, 16)],
    ({ echoed }) => echoed.includes('redteam'),
  ),
  finds(
    'typing into a terminal',
    ({ terminal }, scene) => ['terminal-inject', terminal, scene.token.slice(0, 16)],
    ({ typed }) => typed.includes('redteam'),
    { needs: 'TIOCSTI' },
  ),
  onVictim(
    'joining the mounts of a process',
    ({ pid }, scene) => ['join-create', String(pid), `${scene.outside}/made`, scene.token, 'mounts'],
    (_, __, scene) => scene.isIn(`${scene.outside}/made`),
    { only: 'root', needs: 'CAP_SYS_ADMIN' },
  ),
  onVictim(
    'joining the namespaces of a process',
    ({ pid }, scene) => ['join-create', String(pid), `${scene.outside}/made`, scene.token, 'user'],
    (_, __, scene) => scene.isIn(`${scene.outside}/made`),
    { victim: 'apart', needs: 'user namespaces' },
  ),
  {
    name: 'joining the network of a process',
    only: 'root',
    needs: 'CAP_SYS_ADMIN',
    async stage(scene) {
      const [{ pid }, listener] = [await scene.victim(), await scene.tcp()]
      return { run: ['join-connect', String(pid), listener.address, scene.token], happened: () => listener.heard(scene.token) }
    },
  },
]
