//go:build unix

package interop_test

import (
	"os"
	"os/exec"
	"path/filepath"
)

// tomcatHome is the directory of Debian's Tomcat, which all instances share. Tomcat's
// executable is java.
const tomcatHome = "/usr/share/tomcat10"

func tomcatProduct() product {
	return product{
		name: "Tomcat", program: "java",
		version: says("-cp", tomcatHome+"/lib/catalina.jar", "org.apache.catalina.util.ServerInfo"),
		files: map[string]string{
			"conf/server.xml": "tomcat.xml", "conf/web.xml": "tomcat-default-web.xml", "webapps/ROOT/WEB-INF/web.xml": "tomcat-web.xml", "webapps/ROOT/domain.jsp": "domain.jsp",
		},
		prepare: func(s *instance) {
			if _, err := os.Stat(tomcatHome); err != nil {
				s.t.Skip("tomcat10 is not installed")
			}
			for _, dir := range []string{"temp", "work", "logs"} {
				if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o755); err != nil {
					s.t.Fatal(err)
				}
			}
		},
		command: func(s *instance) *exec.Cmd {
			cmd := exec.Command(s.path, "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
				"-Dcatalina.home="+tomcatHome, "-Dcatalina.base="+s.dir, "-Djava.io.tmpdir="+filepath.Join(s.dir, "temp"),
				"-cp", tomcatHome+"/bin/bootstrap.jar:"+tomcatHome+"/bin/tomcat-juli.jar",
				"org.apache.catalina.startup.Bootstrap", "start")
			cmd.Stdout = s.appendTo("error.log")
			return cmd
		},
		logs:   readLog("access.log"),
		wakes:  2,
		remark: "by default it stops its applications before its connections. The last responses of a stopping server are then 404, the same as for an unregistered name. Set gracefulStopAwaitMillis and bindOnInit=\"false\", as interop/testdata/tomcat.xml does",
		limits: map[string]limit{http1: sevenRequests, http2: beingIdle},
		lacks: map[string]string{
			featureHTTP3:    noQUIC,
			graceful(http1): noGraceful,
			graceful(http2): noGraceful,
		},
	}
}
