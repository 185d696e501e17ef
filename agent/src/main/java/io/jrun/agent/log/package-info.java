/** Workers' output: raw bytes into files at once, whole lines to a console that may lag. Entry: {@code LogFile} and {@code ConsoleFeed}. */
@NullMarked
package io.jrun.agent.log;

import org.jspecify.annotations.NullMarked;
