/** Jars that the Maven of the user fetches on request, and its local repository, by the settings of the user. */
@NullMarked
package io.jrun.launcher.maven;

import org.jspecify.annotations.NullMarked;
