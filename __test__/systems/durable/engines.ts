import { installedPackages } from '../../support/installed-packages.ts'

/** The folder with the engines. They are large, so they are no dependencies of the checkout. @throws {RegistryUnreachable} */
export const installedEngines = (): Promise<string> =>
  installedPackages('durable-engines', [
    '@dbos-inc/dbos-sdk@5.3.0',
    '@restatedev/restate-sdk@1.17.2',
    '@restatedev/restate-server@1.7.12',
    'pg@8.23.1',
  ])
