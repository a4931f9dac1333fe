/** Exits 0 if an engine answers at DOCKER_HOST or at the usual socket. */
import { engineAnswers, engineSocket } from "../images/engine-socket.mjs";

process.exitCode = (await engineAnswers(engineSocket())) ? 0 : 1;
