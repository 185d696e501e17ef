package io.jrun.launcher.dashboard;

import io.jrun.launcher.json.JsonLine;
import io.jrun.launcher.view.CollectiveLedger;
import io.jrun.launcher.view.JobLogs;
import io.jrun.launcher.view.JobView;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** A page about one job in one HTML file, which needs no server and no network. Stateless. */
public final class HtmlReport {
    /** The scripts in the order of their dependencies. The server gives the same files as modules. */
    private static final List<String> SCRIPTS =
            List.of("dom.js", "heatmap.js", "charts.js", "logs.js", "panels.js", "job.js", "report.js");

    private static final Pattern IMPORT = Pattern.compile("(?m)^import .*;$");
    private static final Pattern EXPORT = Pattern.compile("(?m)^export ");

    private HtmlReport() {}

    /** The page about a job as it is now. */
    public static String of(JobView view) throws IOException {
        view.refreshMetrics();
        Map<String, Object> data = new LinkedHashMap<>();
        data.put("madeTime", System.currentTimeMillis() / 1000.0);
        data.put("summary", view.summary());
        data.put("metrics", view.metrics(0));
        data.put("heat", view.heat(0));
        data.put("ledger", CollectiveLedger.json(view));
        data.put("logs", new JobLogs(view).since(0));
        StringBuilder scripts = new StringBuilder();
        for (String name : SCRIPTS) {
            String module = IMPORT.matcher(Assets.text(name)).replaceAll("");
            scripts.append(EXPORT.matcher(module).replaceAll(""));
        }
        return Assets.text("report.html")
                .replace("/*page.css*/", Assets.text("page.css"))
                .replace("/*uPlot.min.css*/", Assets.text("uPlot.min.css"))
                .replace("/*uPlot.iife.min.js*/", Assets.text("uPlot.iife.min.js"))
                .replace("/*scripts*/", scripts)
                .replace("/*data*/", escaped(JsonLine.of(data)));
    }

    /** JSON in a script element: text of the job must not end the element. */
    private static String escaped(String json) {
        return json.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029");
    }
}
