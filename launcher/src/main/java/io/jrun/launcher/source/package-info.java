/**
 * Programs that are one Java source file: jrun compiles them once for the job. Entry class: {@link
 * io.jrun.launcher.source.SourceCompiler}.
 */
@NullMarked
package io.jrun.launcher.source;

import org.jspecify.annotations.NullMarked;
