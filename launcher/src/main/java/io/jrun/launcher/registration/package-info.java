/**
 * Agents that dial the launcher: who starts them, who has come, who is missing. To the coordinator they are agents like
 * others. Entry: {@code AgentRegistry}; ways to start them are {@link
 * io.jrun.launcher.registration.AgentLauncher}s.
 */
@NullMarked
package io.jrun.launcher.registration;

import org.jspecify.annotations.NullMarked;
