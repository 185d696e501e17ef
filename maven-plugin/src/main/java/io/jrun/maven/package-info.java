/** The Maven plugin: {@code mvn jrun:run} runs the program of a project as a job. */
@NullMarked
package io.jrun.maven;

import org.jspecify.annotations.NullMarked;
