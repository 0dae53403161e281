/** `npm run address`: writes the public address of the project, `repository` in package.json, to all other places. */
import { addressButton, addressPackage } from './lib/address.mjs'
import { inProject } from './lib/project.mjs'

addressButton()
for (const folder of ['clients/typescript', 'clients/react', 'cli']) addressPackage(inProject(folder))
