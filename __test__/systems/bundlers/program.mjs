import { main } from './work.mjs'

main().then(
  (said) => console.log(JSON.stringify(said)),
  (error) => {
    console.error(`${error.code} ${error.message}`)
    process.exitCode = 1
  },
)
