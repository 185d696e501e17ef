/**
 * Agents that connect to the launcher: their start and their registration. The coordinator uses them like all other
 * agents. Entry class: {@code AgentRegistry}. An {@link io.jrun.launcher.registration.AgentLauncher} is a way to start
 * agents.
 */
@NullMarked
package io.jrun.launcher.registration;

import org.jspecify.annotations.NullMarked;
