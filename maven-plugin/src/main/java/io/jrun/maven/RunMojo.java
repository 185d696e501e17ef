package io.jrun.maven;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.maven.artifact.Artifact;
import org.apache.maven.plugin.AbstractMojo;
import org.apache.maven.plugin.MojoExecutionException;
import org.apache.maven.plugins.annotations.Execute;
import org.apache.maven.plugins.annotations.LifecyclePhase;
import org.apache.maven.plugins.annotations.Mojo;
import org.apache.maven.plugins.annotations.Parameter;
import org.apache.maven.plugins.annotations.ResolutionScope;
import org.apache.maven.project.MavenProject;
import org.codehaus.plexus.util.xml.Xpp3Dom;

/**
 * Compiles the project and runs its main class on all ranks: {@code mvn jrun:run -Djrun.nprocPerNode=2}. The classes and
 * the jars of the dependencies are the class path of the workers, behind the runtime of jrun.
 */
@Mojo(name = "run", requiresDependencyResolution = ResolutionScope.RUNTIME, threadSafe = true)
@Execute(phase = LifecyclePhase.PROCESS_CLASSES)
public final class RunMojo extends AbstractMojo {
    private static final String JAR_PLUGIN = "org.apache.maven.plugins:maven-jar-plugin";

    /** The bindings of libtorch are part of jrun's runtime. */
    private static final Set<String> RUNTIME =
            Set.of("org.bytedeco:javacpp", "org.bytedeco:openblas", "org.bytedeco:pytorch");

    @Parameter(defaultValue = "${project}", readonly = true, required = true)
    private MavenProject project = new MavenProject();

    /** The jrun command. Default: the command on the PATH. */
    @Parameter(property = "jrun.command", defaultValue = "jrun")
    private String command = "jrun";

    /** The number of workers on each node, as --nproc-per-node of jrun. Default: jrun's own. */
    @Parameter(property = "jrun.nprocPerNode")
    private String nprocPerNode = "";

    /** More options of jrun, separated by blanks: {@code -Djrun.options="--hosts=h1,h2 --max-restarts=3"}. */
    @Parameter(property = "jrun.options")
    private String options = "";

    /** The class to run. Default: the main class that the configuration of maven-jar-plugin has. */
    @Parameter(property = "jrun.mainClass")
    private String mainClass = "";

    /** The arguments of the program, separated by blanks. */
    @Parameter(property = "jrun.args")
    private String args = "";

    /** Makes the plugin; Maven sets the parameters. */
    public RunMojo() {
        // javadoc wants a comment
    }

    @Override
    public void execute() throws MojoExecutionException {
        List<String> line = new ArrayList<>(List.of(command));
        if (!nprocPerNode.isBlank()) {
            line.add("--nproc-per-node=" + nprocPerNode.strip());
        }
        line.addAll(words(options));
        line.add("--main-class=" + (mainClass.isBlank() ? mainClassOfJar() : mainClass.strip()));
        String jars = project.getArtifacts().stream()
                .filter(RunMojo::isOfProgram)
                .map(artifact -> artifact.getFile().getPath())
                .collect(Collectors.joining(File.pathSeparator));
        if (!jars.isEmpty()) {
            line.add("--classpath=" + jars);
        }
        line.add(project.getBuild().getOutputDirectory());
        line.addAll(words(args));
        getLog().debug(String.join(" ", line));
        int exitCode = run(line);
        if (exitCode != 0) {
            throw new MojoExecutionException("jrun has ended with exit code " + exitCode);
        }
    }

    private static boolean isOfProgram(Artifact artifact) {
        return !artifact.getGroupId().equals("io.jrun")
                && !RUNTIME.contains(artifact.getGroupId() + ":" + artifact.getArtifactId());
    }

    private String mainClassOfJar() throws MojoExecutionException {
        Object configuration = project.getPlugin(JAR_PLUGIN) == null
                ? null
                : project.getPlugin(JAR_PLUGIN).getConfiguration();
        for (String child : List.of("archive", "manifest", "mainClass")) {
            configuration = configuration instanceof Xpp3Dom dom ? dom.getChild(child) : null;
        }
        if (configuration instanceof Xpp3Dom dom && dom.getValue() != null) {
            return dom.getValue().strip();
        }
        throw new MojoExecutionException("maven-jar-plugin has no archive/manifest/mainClass;"
                + " name the class to run: mvn jrun:run -Djrun.mainClass=com.example.Train");
    }

    private int run(List<String> line) throws MojoExecutionException {
        try {
            Process job = new ProcessBuilder(line)
                    .directory(project.getBasedir())
                    .inheritIO()
                    .start();
            Thread stop = new Thread(job::destroy); // a job does not outlive Maven
            Runtime.getRuntime().addShutdownHook(stop);
            int exitCode = job.waitFor();
            Runtime.getRuntime().removeShutdownHook(stop);
            return exitCode;
        } catch (IOException e) {
            throw new MojoExecutionException(
                    "'" + command
                            + "' cannot be started; put jrun on the PATH, or name it: -Djrun.command=/opt/jrun/bin/jrun",
                    e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new MojoExecutionException("interrupted while the job ran", e);
        }
    }

    private static List<String> words(String text) {
        return text.isBlank() ? List.of() : List.of(text.strip().split("\\s+"));
    }
}
