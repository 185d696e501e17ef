/** Workers' output: raw bytes into files at once, whole lines to a console that may lag. Entry: {@link io.jrun.agent.log.LogFile} and {@link io.jrun.agent.log.ConsoleFeed}. */
@NullMarked
package io.jrun.agent.log;

import org.jspecify.annotations.NullMarked;
