/**
 * The output of workers: raw bytes go into files at once, and whole lines go to a console that may lag behind. Entry
 * classes: {@code LogFile} and {@code ConsoleFeed}.
 */
@NullMarked
package io.jrun.agent.log;

import org.jspecify.annotations.NullMarked;
