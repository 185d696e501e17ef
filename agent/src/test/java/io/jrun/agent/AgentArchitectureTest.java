package io.jrun.agent;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

@AnalyzeClasses(packages = "io.jrun", importOptions = ImportOption.DoNotIncludeTests.class)
class AgentArchitectureTest {
    @ArchTest
    static final ArchRule agentNeverSeesTheLauncherOrTheTrainer = noClasses()
            .that()
            .resideInAPackage("io.jrun.agent..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("io.jrun.launcher..", "io.jrun.train..");

    @ArchTest
    static final ArchRule runtimeNeverSeesTheAgent = noClasses()
            .that()
            .resideInAPackage("io.jrun.comm..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("io.jrun.agent..");

    @ArchTest
    static final ArchRule onlyTheTransportNamesTheNetworkLibrary = noClasses()
            .that()
            .haveNameNotMatching("io\\.jrun\\.agent\\."
                    + "(AgentListener|DialingServer|HandshakeFilter|NetworkSockets|SocketTransport|TlsContext)(\\$.*)?")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("io.grpc.netty..");

    @ArchTest
    static final ArchRule partsDoNotKnowTheJob = classes()
            .that()
            .resideInAnyPackage("io.jrun.agent.job..")
            .should()
            .onlyHaveDependentClassesThat()
            .resideInAnyPackage("io.jrun.agent", "io.jrun.agent.job..");

    @ArchTest
    static final ArchRule onlyTheProcessThatPullsImagesNamesItsLibraries = noClasses()
            .that()
            .resideOutsideOfPackage("io.jrun.agent.image.pull..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(
                    "land.oras..", "org.apache.commons.compress..", "com.github.luben..", "io.jrun.agent.image.pull..");

    @ArchTest
    static final ArchRule packagesFormNoCircle =
            slices().matching("io.jrun.(**)").should().beFreeOfCycles();
}
