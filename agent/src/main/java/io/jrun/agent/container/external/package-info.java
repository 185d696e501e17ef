/**
 * The engines whose commands come from other projects: podman, enroot and apptainer. jrun prepares the root folder of a
 * worker with the builtin engine. The command starts the program in this folder. Entry: {@code ContainerEngines}.
 */
@NullMarked
package io.jrun.agent.container.external;

import org.jspecify.annotations.NullMarked;
