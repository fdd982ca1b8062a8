// The packages that are published, and the systems that their addons are made for.
const linux = (architecture, libc) => {
  const processor = architecture === 'arm64' ? 'aarch64' : 'x86_64'
  return { platform: `linux-${architecture}-${libc}`, os: 'linux', architecture, libc, target: `${processor}-unknown-linux-${libc}` }
}
const darwin = (architecture) => {
  const processor = architecture === 'arm64' ? 'aarch64' : 'x86_64'
  return { platform: `darwin-${architecture}`, os: 'darwin', architecture, target: `${processor}-apple-darwin` }
}

export const PACKAGES = [
  linux('x64', 'gnu'),
  linux('arm64', 'gnu'),
  linux('x64', 'musl'),
  linux('arm64', 'musl'),
  darwin('arm64'),
  darwin('x64'),
]
export const packageOf = (platform) => PACKAGES.find((one) => one.platform === platform)

/** This checkout's own build, which `npm run build` has made. */
export const isLocal = ({ os, architecture, libc }) =>
  os === process.platform && architecture === process.arch && (os === 'darwin' || (libc === 'gnu') === isGlibc())

const isGlibc = () => process.report.getReport().header.glibcVersionRuntime !== undefined
