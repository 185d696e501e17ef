/**
 * The pages about jobs: a server for all jobs, and one file about one job. Both show the JSON of the package
 * {@code view} with the same scripts. Entry classes: {@link io.jrun.launcher.dashboard.DashboardServer} and {@link
 * io.jrun.launcher.dashboard.HtmlReport}.
 */
@NullMarked
package io.jrun.launcher.dashboard;

import org.jspecify.annotations.NullMarked;
