/**
 * Agents that dial the launcher: who starts them, who has come, who is missing. To the coordinator they are agents like
 * others. Entry: {@link io.jrun.launcher.arrival.Arrivals}; ways to start them are {@link
 * io.jrun.launcher.arrival.Bootstrap}s.
 */
@NullMarked
package io.jrun.launcher.arrival;

import org.jspecify.annotations.NullMarked;
