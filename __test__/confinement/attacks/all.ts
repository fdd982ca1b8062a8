import type { Attack, Kind } from './attack.ts'
import { files } from './files.ts'
import { gitDirectory } from './git-directory.ts'
import { gitObeys } from './git-obeys.ts'
import { hostPrograms } from './host-programs.ts'
import { ipc } from './ipc.ts'
import { kernel } from './kernel.ts'
import { limits } from './limits.ts'
import { metadata } from './metadata.ts'
import { network } from './network.ts'
import { processes } from './processes.ts'
import { secrets } from './secrets.ts'
import { supervisor } from './supervisor.ts'

/** Every attack, by what it is on. */
export const attacks: Readonly<Record<Kind, readonly Attack[]>> = {
  // The first, because some take seconds.
  limits,
  network,
  files: [...files, ...gitDirectory, ...gitObeys],
  metadata,
  processes,
  ipc,
  environment: secrets,
  kernel: [...kernel, ...hostPrograms],
  supervisor,
}
